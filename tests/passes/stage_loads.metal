// Loads that lie side by side in a lane, but not from lane to lane, are made lane by lane before the
// rest of a round.
// RUN: --emit ir --cpu x86-64-v4 -e blocks
// RUN-ROUNDS: --emit ir --cpu x86-64-v4 -e rounds
// RUN-FEW: --emit ir --cpu x86-64-v4 -e few
// RUN-SUMS: --emit ir --cpu x86-64-v4 -e sums
// RUN-WRITTEN: --emit ir --cpu x86-64-v4 -e written
// RUN-NARROW: --emit ir --cpu x86-64-v3 -e blocks
#include <metal_stdlib>
using namespace metal;

inline float product(device const float* x, device const ushort* w) {
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum += x[2 * i] * (w[i] & 15) + x[2 * i + 1] * (w[i] & 240) + x[i] * (w[i] & 3840);
  return sum;
}

// Four floats are moved at once, and four words; two scales, of rows that lie anywhere, share a
// store. The rest is vectors.
// CHECK: stage:
// CHECK-COUNT-2: load <4 x float>
// CHECK: br i1 {{.*}}, label %stage
// CHECK-NOT: gather
// CHECK: load <64 x float>
// CHECK: fmuladd.v16f32
// NARROW-NOT: stage:
kernel void blocks(device const float* x, device const ushort* w, device const float* scales,
                   device float* out, constant uint& rounds, constant uint& row,
                   uint lane [[thread_index_in_simdgroup]]) {
  x += lane * 8 + row;
  w += lane * 4 + row;
  float sum = 0;
  for (uint i = 0; i < rounds; ++i) {
    sum += product(x, w) * scales[lane / 4 * row] + scales[lane / 8 + row];
    x += 256;
    w += 128;
  }
  sum = simd_sum(sum);
  if (lane == 0) out[0] = sum;
}

// Lanes that leave the loop at different times: rounds of all lanes.
// ROUNDS: stage:
// ROUNDS: fmuladd.v16f32
kernel void rounds(device const float* x, device const ushort* w, device float* out,
                   constant uint& count, uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0;
  for (uint i = lane / 2; i < count; i += 16) sum += product(x + i * 32 + lane % 2 * 8, w + i * 9);
  sum = simd_sum(sum);
  if (lane == 0) out[0] = sum;
}

// Too little is done with what is loaded.
// FEW-NOT: stage:
kernel void few(device const float* x, device float* out, constant uint& rounds, constant uint& row,
                uint lane [[thread_index_in_simdgroup]]) {
  x += lane * 8 + row;
  float sum = 0;
  for (uint i = 0; i < rounds; ++i) {
    sum += x[0] + x[1] + x[2] + x[3];
    x += 256;
  }
  sum = simd_sum(sum);
  if (lane == 0) out[0] = sum;
}

// Sums that lie side by side in a lane are vectors of one lane.
// SUMS-NOT: stage:
kernel void sums(device const float* x, device const ushort* w, device float* out,
                 constant uint& rounds, constant uint& row,
                 uint lane [[thread_index_in_simdgroup]]) {
  w += lane * 8 + row;
  float sum[8] = {};
  for (uint i = 0; i < rounds; ++i) {
    for (int j = 0; j < 8; ++j) sum[j] += x[i] * (w[j] & 240);
    w += 256;
  }
  for (int j = 0; j < 8; ++j) {
    float total = simd_sum(sum[j]);
    if (lane == 0) out[j] = total;
  }
}

// What a round writes may be what it loads.
// WRITTEN-NOT: stage:
kernel void written(device float* x, device const ushort* w, device float* out,
                    constant uint& rounds, constant uint& row,
                    uint lane [[thread_index_in_simdgroup]]) {
  x += lane * 8 + row;
  float sum = 0;
  for (uint i = 0; i < rounds; ++i) {
    out[lane] = sum;
    sum += product(x, w + lane * 4);
    x += 256;
  }
  sum = simd_sum(sum);
  if (lane == 0) out[0] = sum;
}
