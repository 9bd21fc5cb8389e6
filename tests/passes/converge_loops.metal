// Loops that lanes leave at different times.
// RUN-STRIDED: --emit lowered -e strided
// RUN-VECTOR: --emit ir -e strided
// RUN-ROWS: --emit lowered -e rows
// RUN-TOGETHER: --emit lowered -e together
// RUN-PREPARED: --emit lowered -e prepared
// RUN-SEARCH: --emit ir --cpu x86-64-v4 -e search
// RUN-FETCH: --emit lowered --cpu x86-64-v4 -e fetch
#include <metal_stdlib>
using namespace metal;

// A loop for the whole simdgroup, while any lane wants to go on; inside, a loop over the lanes
// that do. The index comes from the number of rounds.
// STRIDED: [[ROUND:%[0-9]+]] = alloca i32
// STRIDED: {{^}}converged:
// STRIDED: [[VOTES:%[0-9]+]] = bitcast <32 x i1> %{{[0-9]+}} to i32
// STRIDED: {{^}}branch:
// STRIDED: icmp ne i32 %{{[0-9]+}}, 0
// STRIDED-NEXT: br i1 %{{[0-9]+}}, label %active, label %
// STRIDED: {{^}}active:
// STRIDED: [[NOW:%[0-9]+]] = load i32, ptr
// STRIDED: mul i32 [[NOW]], %
// STRIDED: add i32 [[NOW]], 1
// STRIDED: br label %lanes
// Then the lanes are vectors: loads under a mask.
// VECTOR: call <8 x float> @llvm.masked.load.v8f32
// VECTOR: call <8 x float> @llvm.fma.v8f32
kernel void strided(device const float* x, device float* out, constant uint& n,
                    uint t [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]]) {
  float sum = 0;
  for (uint i = t; i < n; i += threads) sum = fma(x[i], x[i], sum);
  out[t] = simd_sum(sum);
}

// Lanes that go through a row each are far apart in memory; they stay as they are, one after the
// other. No ballot, no round.
// ROWS-NOT: {{^}}converged:
// ROWS-NOT: bitcast <32 x i1>
// ROWS: fadd <16 x float>
kernel void rows(device const float* x, device float* out, constant uint& n,
                 uint t [[thread_index_in_threadgroup]]) {
  float sum = 0;
  for (uint i = t; i < n; ++i) sum += x[t * n + i];
  out[t] = simd_sum(sum);
}

// A loop that lanes leave together needs no ballot: it runs once, with the loop over lanes inside.
// TOGETHER-NOT: {{^}}converged:
// TOGETHER-NOT: bitcast <32 x i1>
// TOGETHER-COUNT-2: {{^}}branch{{[0-9]*}}:
kernel void together(device const float* x, device float* out, constant uint& n,
                     uint t [[thread_index_in_threadgroup]]) {
  float sum = 0;
  for (uint i = 0; i < n; ++i) sum += x[t + i * 32];
  out[t] = simd_sum(sum);
}

// What is made ready behind the loop's test stays in order: a load that must not move before the
// test, and a comparison that needs it.
// PREPARED: {{^}}converged:
// PREPARED: fcmp ogt float
kernel void prepared(device const float* x, device const float* limit, device float* out,
                     constant uint& n, uint t [[thread_index_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]]) {
  float sum = 0;
  for (uint i = t; i < n; i += threads) sum += limit[0] > float(t) ? x[i] : 1.0f;
  out[t] = simd_sum(sum);
}

// A lane waits for what it loads before it knows where to load next: side by side, lanes wait
// together.
// SEARCH: {{^}}converged
// SEARCH: call <16 x float> @llvm.masked.gather.v16f32
kernel void search(device const float* in, device uint* out,
                   uint t [[thread_index_in_threadgroup]]) {
  threadgroup float sorted[256];
  for (uint i = 0; i < 256; ++i) sorted[i] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint first = 0, last = in[256 + t] < 0 ? 256 : t;
  while (first < last) {
    uint middle = (first + last) / 2;
    if (sorted[middle] < in[256 + t])
      first = middle + 1;
    else
      last = middle;
  }
  out[t] = first;
}

// Where all addresses are known before, loads do not wait for each other: a scattered loop stays
// with its lane.
// FETCH-NOT: active
kernel void fetch(device const float* in, device float* out,
                  uint t [[thread_index_in_threadgroup]]) {
  threadgroup float copy[256];
  for (uint i = 0; i < 256; ++i) copy[i] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint i = 0; i < t; ++i) sum += copy[(i * t) % 251];
  out[t] = sum;
}
