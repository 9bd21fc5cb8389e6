// The benchmark kernels in MSL; kernels.cl holds the same in OpenCL C.
#include <metal_stdlib>
using namespace metal;

struct Params {
  uint rows;
  uint columns;
  float epsilon;
};

// out = a * b + a; one thread for each element.
kernel void elementwise(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                        device float* out [[buffer(2)]], constant Params& params [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
  out[i] = a[i] * b[i] + a[i];
}

// out = x / sqrt(mean(x^2) + epsilon) * weight; one threadgroup for each row.
kernel void rms_norm(device const float* x [[buffer(0)]], device const float* weight [[buffer(1)]],
                     device float* out [[buffer(2)]], constant Params& params [[buffer(3)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint thread_index [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[32];
  device const float* in = x + row * params.columns;
  float sum = 0;
  for (uint c = thread_index; c < params.columns; c += threads) sum += in[c] * in[c];
  sum = simd_sum(sum);
  if (lane == 0) partial[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float total = simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
  const float scale = rsqrt(total / float(params.columns) + params.epsilon);
  for (uint c = thread_index; c < params.columns; c += threads) {
    out[row * params.columns + c] = in[c] * scale * weight[c];
  }
}

// 32 weights of 4 bits: value = (nibble - 8) * scale; low nibbles first.
struct BlockQ4 {
  half scale;
  uchar nibbles[16];
};

// out = weights * x; one simdgroup for each row.
kernel void matvec_q4_0(device const BlockQ4* weights [[buffer(0)]],
                        device const float* x [[buffer(1)]], device float* out [[buffer(2)]],
                        constant Params& params [[buffer(3)]],
                        uint group [[threadgroup_position_in_grid]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
  const uint row = group * simdgroups + simdgroup;
  const uint blocks = params.columns / 32;
  device const BlockQ4* in = weights + row * blocks;
  float sum = 0;
  for (uint b = lane; b < blocks; b += 32) {
    device const float* values = x + b * 32;
    float part = 0;
    for (uint i = 0; i < 16; ++i) {
      const int byte = in[b].nibbles[i];
      part += float((byte & 15) - 8) * values[i] + float((byte >> 4) - 8) * values[i + 16];
    }
    sum += part * float(in[b].scale);
  }
  sum = simd_sum(sum);
  if (lane == 0) out[row] = sum;
}
