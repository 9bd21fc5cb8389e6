// The benchmark kernels in OpenCL C; kernels.metal holds the same in MSL. OpenCL C 1.2 has no simdgroup
// functions, so sums go through local memory, as its kernels usually do.
typedef struct {
  uint rows;
  uint columns;
  uint width;
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

kernel void softmax(global const float* x, global const float* unused, global float* out,
                    const Params params) {
  local float partial[256];
  const uint row = get_group_id(0), thread_index = get_local_id(0), threads = get_local_size(0);
  global const float* in = x + row * params.columns;
  global float* result = out + row * params.columns;
  float largest = -INFINITY;
  for (uint c = thread_index; c < params.columns; c += threads) largest = fmax(largest, in[c]);
  partial[thread_index] = largest;
  for (uint d = threads / 2; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread_index < d)
      partial[thread_index] = fmax(partial[thread_index], partial[thread_index + d]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  largest = partial[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  float sum = 0;
  for (uint c = thread_index; c < params.columns; c += threads) {
    const float power = exp(in[c] - largest);
    result[c] = power;
    sum += power;
  }
  partial[thread_index] = sum;
  for (uint d = threads / 2; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread_index < d) partial[thread_index] += partial[thread_index + d];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float scale = 1.0f / partial[0];
  for (uint c = thread_index; c < params.columns; c += threads) result[c] *= scale;
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

kernel void matvec_q4_0_rows(global const uchar* weights, global const float* x, global float* out,
                             const Params params) {
  enum { kRows = 4 };
  local float partial[2][kRows][32];
  const uint index = get_local_id(1) * get_local_size(0) + get_local_id(0);
  const uint lane = index % 32, part_index = index / 32;
  const uint parts = get_local_size(0) * get_local_size(1) / 32;
  const uint first = (get_group_id(0) * parts + part_index) * kRows;
  const uint blocks = params.columns / 32;
  const uint part = lane % 2 * 8;
  float sums[kRows] = {0};
  for (uint b = lane / 2; b < blocks; b += 16) {
    global const float* values = x + b * 32 + part;
    float scaled[16];  // by where the weight of a value lies in its 16 bits
    float total = 0;
    for (uint i = 0; i < 8; i += 2) {
      total += (values[i] + values[i + 1]) + (values[i + 16] + values[i + 17]);
      scaled[i] = values[i];
      scaled[i + 1] = values[i + 1] / 256;
      scaled[i + 8] = values[i + 16] / 16;
      scaled[i + 9] = values[i + 17] / 4096;
    }
    for (uint r = 0; r < kRows; ++r) {
      global const uchar* block = weights + ((size_t)(first + r) * blocks + b) * 18;
      global const ushort* words = (global const ushort*)(block + 2 + part);
      float dots[4] = {0};
      for (uint i = 0; i < 8; i += 2) {
        const uint word = words[i / 2];
        dots[0] += scaled[i] * (float)(word & 0x000f);
        dots[1] += scaled[i + 1] * (float)(word & 0x0f00);
        dots[2] += scaled[i + 8] * (float)(word & 0x00f0);
        dots[3] += scaled[i + 9] * (float)(word & 0xf000);
      }
      sums[r] += vload_half(0, (global const half*)block) *
                 ((dots[0] + dots[1]) + (dots[2] + dots[3]) - 8.0f * total);
    }
  }
  for (uint r = 0; r < kRows; ++r) partial[part_index][r][lane] = sums[r];
  for (uint d = 16; d > 0; d /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < d)
      for (uint r = 0; r < kRows; ++r)
        partial[part_index][r][lane] += partial[part_index][r][lane + d];
  }
  if (lane == 0)
    for (uint r = 0; r < kRows; ++r) out[first + r] = partial[part_index][r][0];
}

// OpenCL C has no simdgroup matrices: the same tiles, with a block of results for each work-item.
kernel void matmul_f32(global const float* a, global const float* b, global float* out,
                       const Params params) {
  enum { kTile = 32, kDepth = 16, kThreads = 128 };
  local float tile_a[kTile * kDepth];
  local float tile_b[kDepth * kTile];
  const uint index = get_local_id(0);
  const uint row = get_group_id(1) * kTile, column = get_group_id(0) * kTile;
  const uint own_row = index / 8 * 2, own_column = index % 8 * 4;
  float sums[2][4] = {{0}};
  for (uint k = 0; k < params.columns; k += kDepth) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = index; i < kTile * kDepth; i += kThreads) {
      tile_a[i] = a[(row + i / kDepth) * params.columns + k + i % kDepth];
      tile_b[i] = b[(k + i / kTile) * params.width + column + i % kTile];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 0; step < kDepth; ++step)
      for (uint i = 0; i < 2; ++i)
        for (uint j = 0; j < 4; ++j)
          sums[i][j] = fma(tile_a[(own_row + i) * kDepth + step],
                           tile_b[step * kTile + own_column + j], sums[i][j]);
  }
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 4; ++j)
      out[(row + own_row + i) * params.width + column + own_column + j] = sums[i][j];
}

// Tiles are float: arithmetic on half is optional in OpenCL C.
kernel void matmul_q4_0(global const uchar* weights, global const float* x, global float* out,
                        const Params params) {
  enum { kRows = 64, kWidth = 32, kDepth = 32 };
  local float tile_w[kDepth * kRows];
  local float tile_x[kWidth * kDepth];
  const uint index = get_local_id(0);
  const uint row = get_group_id(1) * kRows, column = get_group_id(0) * kWidth;
  const uint own_row = index % 16 * 4, own_column = index / 16 * 4;
  const uint blocks = params.columns / 32;
  float sums[4][4] = {{0}};
  for (uint b = 0; b < blocks; ++b) {
    barrier(CLK_LOCAL_MEM_FENCE);
    {
      const uint r = index / 2, shift = index % 2 * 4;
      global const uchar* block = weights + ((size_t)(row + r) * blocks + b) * 18;
      const float scale = vload_half(0, (global const half*)block);
      for (uint i = 0; i < 16; ++i)
        tile_w[(shift * 4 + i) * kRows + r] = scale * (float)((int)(block[2 + i] >> shift & 15) - 8);
    }
    {
      const uint r = index / 4, part = index % 4 * 8;
      global const float* from = x + (column + r) * params.columns + b * kDepth + part;
      for (uint i = 0; i < 8; ++i) tile_x[r * kDepth + part + i] = from[i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 0; step < kDepth; ++step)
      for (uint i = 0; i < 4; ++i)
        for (uint j = 0; j < 4; ++j)
          sums[i][j] = fma(tile_x[(own_column + i) * kDepth + step],
                           tile_w[step * kRows + own_row + j], sums[i][j]);
  }
  for (uint i = 0; i < 4; ++i)
    for (uint j = 0; j < 4; ++j)
      out[(column + own_column + i) * params.rows + row + own_row + j] = sums[i][j];
}
