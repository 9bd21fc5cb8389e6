// The lane's number as an index, made on one path and made anew where the paths join, is no value to
// be kept for each lane: addresses made of it lie side by side.
// RUN-LOWERED: --emit lowered --cpu x86-64-v4
// RUN-IR: --emit ir --cpu x86-64-v4
#include <metal_stdlib>
using namespace metal;

// LOWERED-NOT: alloca [32 x i64]
// LOWERED-NOT: alloca [32 x ptr]
// IR-NOT: masked.gather
// IR: load <16 x float>
kernel void joined(device const float* x, device const float* y, device float* out,
                   constant uint& n, uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float start[32];
  start[lane] = lane < n ? x[lane] : 0.0f;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  float sum = start[31];
  for (uint k = 0; k < n; ++k) sum = fma((y + k * 32)[lane], start[k % 32], sum);
  out[lane] = simd_sum(sum);
}
