// A pointer that a loop moves is known to point outside of the thread's own variables, so lanes run
// side by side in the loop and their sums stay in registers.
// RUN: --emit ir --cpu x86-64-v4 -e moves
#include <metal_stdlib>
using namespace metal;

// CHECK: phi <16 x float>
// CHECK: phi <16 x float>
kernel void moves(device const float* weights, device const float* input, device float* output,
                  constant uint& count, uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0;
  for (uint k = 0; k < count; ++k) {
    sum += weights[lane] * input[0] + input[1];
    weights += 32;
    input += 2;
  }
  if (simd_sum(sum) > 0) output[lane] = sum;
}
