// Kernels whose result depends on memory that nobody wrote, or that is not theirs: tier_foreign
// lists them, it does not compare them.
#include <metal_stdlib>
using namespace metal;

// Reads past the end of a private array, as MLX's affine_qmv_quad does with 6 bits: the pointer
// moves on by more each time.
kernel void past_an_array(device float* out, device const float* in,
                          uint i [[thread_position_in_grid]]) {
  float x[16], sums[4] = {};
  for (uint k = 0; k < 16; ++k) x[k] = in[i + k];
  for (uint row = 0; row < 4; ++row) {
    const thread float* at = x;
    for (uint k = 0; k < 4; ++k) {
      at += 4 * k;
      sums[row] += at[0] + at[1] + at[2] + at[3] + row;
    }
  }
  for (uint row = 0; row < 4; ++row) out[i * 4 + row] = quad_sum(sums[row]);
}

kernel void before_an_array(device float* out, device const float* in, device const int* back,
                            uint i [[thread_position_in_grid]]) {
  float x[16], y[16];
  for (uint k = 0; k < 16; ++k) x[k] = y[k] = in[i + k];
  out[i] = simd_sum(x[back[0] - 6] + y[i & 3]);
}

// Takes more threadgroup memory than there is.
kernel void past_threadgroup_memory(device float* out, device const float* in,
                                    threadgroup float* shared, uint i [[thread_position_in_grid]],
                                    uint t [[thread_index_in_threadgroup]]) {
  shared[t] = in[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = simd_sum(shared[t + 8192]);
}
