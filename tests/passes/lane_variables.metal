// Lane values that live across uniform loops: registers, where a loop over lanes becomes two vectors.
// RUN-LOWERED: --emit lowered --cpu x86-64-v4
// RUN-REGISTERS: --emit ir --cpu x86-64-v4
// RUN-CONTEXT: --emit lowered --cpu x86-64-v3
#include <metal_stdlib>
using namespace metal;

// The sum is a local variable with an element for each lane, and not in the threadgroup's context;
// loops over lanes that have become vectors are unrolled.
// LOWERED: alloca [32 x float], align 64
// LOWERED: !"llvm.loop.vectorize.followup_vectorized"
// LOWERED: !"llvm.loop.unroll.full"
// Nothing is left of it but values of the loop.
// REGISTERS-NOT: alloca
// REGISTERS: phi <16 x float>
// REGISTERS: phi <16 x float>
// REGISTERS: @llvm.fma.v16f32
// CONTEXT-NOT: alloca [32
kernel void sums(device const float* x, device float* out, constant uint& n,
                 uint t [[thread_index_in_threadgroup]]) {
  float sum = 0;
  for (uint k = 0; k < n; ++k) sum = fma(x[k * 256ul + t], x[k], sum);
  out[t] = simd_sum(sum);
}
