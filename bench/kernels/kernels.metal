// The benchmark kernels in MSL; kernels.cl holds the same in OpenCL C.
#include <metal_stdlib>
using namespace metal;

struct Params {
  uint rows;
  uint columns;
  uint width;  // of matrix products
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

// out = exp(x - max(x)) / sum of those; one threadgroup for each row.
kernel void softmax(device const float* x [[buffer(0)]], device float* out [[buffer(2)]],
                    constant Params& params [[buffer(3)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_position_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[32];
  device const float* in = x + row * params.columns;
  device float* result = out + row * params.columns;
  float largest = -INFINITY;
  for (uint c = thread_index; c < params.columns; c += threads) largest = max(largest, in[c]);
  largest = simd_max(largest);
  if (lane == 0) partial[simdgroup] = largest;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  largest = simd_max(lane < simdgroups ? partial[lane] : -INFINITY);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  float sum = 0;
  for (uint c = thread_index; c < params.columns; c += threads) {
    const float power = exp(in[c] - largest);
    result[c] = power;
    sum += power;
  }
  sum = simd_sum(sum);
  if (lane == 0) partial[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float scale = 1.0f / simd_sum(lane < simdgroups ? partial[lane] : 0.0f);
  for (uint c = thread_index; c < params.columns; c += threads) result[c] *= scale;
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

// out = weights * x as a GPU likes it: a simdgroup takes four rows at once, so that each value of x
// is read once for all; two lanes share a block. Weights stay where they are in their 16 bits: the
// values they are multiplied with are scaled instead.
kernel void matvec_q4_0_rows(device const BlockQ4* weights [[buffer(0)]],
                             device const float* x [[buffer(1)]], device float* out [[buffer(2)]],
                             constant Params& params [[buffer(3)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint simdgroups [[simdgroups_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
  constexpr uint kRows = 4;
  const uint first = (group.x * simdgroups + simdgroup) * kRows;
  const uint blocks = params.columns / 32;
  const uint part = lane % 2 * 8;  // of the block's 16 bytes
  float sums[kRows] = {0};
  for (uint b = lane / 2; b < blocks; b += 16) {
    device const float* values = x + b * 32 + part;
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
      device const BlockQ4& block = weights[(first + r) * blocks + b];
      device const ushort* words = (device const ushort*)(block.nibbles + part);
      float dots[4] = {0};
      for (uint i = 0; i < 8; i += 2) {
        const uint word = words[i / 2];
        dots[0] += scaled[i] * float(word & 0x000f);
        dots[1] += scaled[i + 1] * float(word & 0x0f00);
        dots[2] += scaled[i + 8] * float(word & 0x00f0);
        dots[3] += scaled[i + 9] * float(word & 0xf000);
      }
      sums[r] += float(block.scale) * ((dots[0] + dots[1]) + (dots[2] + dots[3]) - 8.0f * total);
    }
  }
  for (uint r = 0; r < kRows; ++r) {
    const float sum = simd_sum(sums[r]);
    if (lane == 0) out[first + r] = sum;
  }
}

// out (rows x width) = a (rows x columns) * b (columns x width), all in rows. A threadgroup of four
// simdgroups makes 32 x 32 results, each simdgroup 16 x 16 of them.
kernel void matmul_f32(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                       device float* out [[buffer(2)]], constant Params& params [[buffer(3)]],
                       uint3 group [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  constexpr uint kTile = 32, kDepth = 16, kThreads = 128;
  threadgroup float tile_a[kTile * kDepth];
  threadgroup float tile_b[kDepth * kTile];
  const uint row = group.y * kTile, column = group.x * kTile;
  const uint own_row = simdgroup / 2 * 16, own_column = simdgroup % 2 * 16;
  simdgroup_float8x8 sums[2][2];
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 2; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

  for (uint k = 0; k < params.columns; k += kDepth) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < kTile * kDepth; i += kThreads) {
      tile_a[i] = a[(row + i / kDepth) * params.columns + k + i % kDepth];
      tile_b[i] = b[(k + i / kTile) * params.width + column + i % kTile];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 0; step < kDepth; step += 8) {
      simdgroup_float8x8 left[2], right[2];
      for (uint i = 0; i < 2; ++i) {
        simdgroup_load(left[i], tile_a + (own_row + 8 * i) * kDepth + step, kDepth);
        simdgroup_load(right[i], tile_b + step * kTile + own_column + 8 * i, kTile);
      }
      for (uint i = 0; i < 2; ++i)
        for (uint j = 0; j < 2; ++j)
          simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
    }
  }
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 2; ++j)
      simdgroup_store(sums[i][j],
                      out + (row + own_row + 8 * i) * params.width + column + own_column + 8 * j,
                      params.width);
}

// out (width x rows) = x (width x columns) * transposed weights (rows x columns of q4_0). Four
// simdgroups make 64 x 32 results from half tiles: weights are unpacked and values of x rounded as
// they enter threadgroup memory.
kernel void matmul_q4_0(device const BlockQ4* weights [[buffer(0)]],
                        device const float* x [[buffer(1)]], device float* out [[buffer(2)]],
                        constant Params& params [[buffer(3)]],
                        uint3 group [[threadgroup_position_in_grid]],
                        uint thread_index [[thread_index_in_threadgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  constexpr uint kRows = 64, kWidth = 32, kDepth = 32;
  threadgroup half tile_w[kRows * kDepth];
  threadgroup half tile_x[kWidth * kDepth];
  const uint row = group.y * kRows, column = group.x * kWidth;
  const uint own_row = simdgroup % 2 * 32, own_column = simdgroup / 2 * 16;
  const uint blocks = params.columns / 32;
  simdgroup_float8x8 sums[2][4];
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 4; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

  for (uint b = 0; b < blocks; ++b) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    {  // two threads unpack a block, one its low and one its high nibbles
      const uint r = thread_index / 2, shift = thread_index % 2 * 4;
      device const BlockQ4& block = weights[(row + r) * blocks + b];
      threadgroup half* to = tile_w + r * kDepth + shift * 4;
      for (uint i = 0; i < 16; ++i)
        to[i] = block.scale * half(int(block.nibbles[i] >> shift & 15) - 8);
    }
    {  // four threads take a row of x
      const uint r = thread_index / 4, part = thread_index % 4 * 8;
      device const float* from = x + (column + r) * params.columns + b * kDepth + part;
      threadgroup half* to = tile_x + r * kDepth + part;
      for (uint i = 0; i < 8; ++i) to[i] = half(from[i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 0; step < kDepth; step += 8) {
      simdgroup_half8x8 left[2], right[4];
      for (uint i = 0; i < 2; ++i)
        simdgroup_load(left[i], tile_x + (own_column + 8 * i) * kDepth + step, kDepth);
      for (uint j = 0; j < 4; ++j)
        simdgroup_load(right[j], tile_w + (own_row + 8 * j) * kDepth + step, kDepth, ulong2(0, 0),
                       true);
      for (uint i = 0; i < 2; ++i)
        for (uint j = 0; j < 4; ++j)
          simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
    }
  }
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 4; ++j)
      simdgroup_store(sums[i][j],
                      out + (column + own_column + 8 * i) * params.rows + row + own_row + 8 * j,
                      params.rows);
}
