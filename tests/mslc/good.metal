#include <metal_stdlib>
using namespace metal;

constant int scale [[function_constant(4)]];

kernel void scaled(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] *= scale;
}

kernel void summed(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] = simd_sum(x[i]) * VALUE;
}
