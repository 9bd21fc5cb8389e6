// The benchmark kernels in OpenCL C; kernels.metal holds the same in MSL. OpenCL C 1.2 has no simdgroup
// functions, so sums go through local memory, as its kernels usually do.
typedef struct {
  uint rows;
  uint columns;
  float epsilon;
} Params;

kernel void elementwise(global const float* a, global const float* b, global float* out,
                        const Params params) {
  const size_t i = get_global_id(0);
  out[i] = a[i] * b[i] + a[i];
}

kernel void rms_norm(global const float* x, global const float* weight, global float* out,
                     const Params params) {
  local float partial[256];
  const uint row = get_group_id(0), thread_index = get_local_id(0), threads = get_local_size(0);
  global const float* in = x + row * params.columns;
  float sum = 0;
  for (uint c = thread_index; c < params.columns; c += threads) sum += in[c] * in[c];
  partial[thread_index] = sum;
  for (uint d = threads / 2; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread_index < d) partial[thread_index] += partial[thread_index + d];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float scale = rsqrt(partial[0] / (float)params.columns + params.epsilon);
  for (uint c = thread_index; c < params.columns; c += threads) {
    out[row * params.columns + c] = in[c] * scale * weight[c];
  }
}

kernel void matvec_q4_0(global const uchar* weights, global const float* x, global float* out,
                        const Params params) {
  local float partial[4][32];
  const uint lane = get_local_id(0) % 32, part_index = get_local_id(0) / 32;
  const uint row = get_group_id(0) * (get_local_size(0) / 32) + part_index;
  const uint blocks = params.columns / 32;
  global const uchar* in = weights + (size_t)row * blocks * 18;
  float sum = 0;
  for (uint b = lane; b < blocks; b += 32) {
    global const float* values = x + b * 32;
    float part = 0;
    for (uint i = 0; i < 16; ++i) {
      const int byte = in[b * 18 + 2 + i];
      part += (float)((byte & 15) - 8) * values[i] + (float)((byte >> 4) - 8) * values[i + 16];
    }
    sum += part * vload_half(0, (global const half*)(in + b * 18));
  }
  partial[part_index][lane] = sum;
  for (uint d = 16; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < d) partial[part_index][lane] += partial[part_index][lane + d];
  }
  if (lane == 0) out[row] = partial[part_index][0];
}
