// The loops one would write in plain C++, compiled with -O3 -march=native.
#include <bit>
#include <cmath>
#include <cstring>

#include "bench/problems.h"

namespace mlxn::bench {
namespace {

float half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t{half} >> 15 << 31, exponent = half >> 10 & 31,
                 mantissa = half & 1023;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

// The weights of a block, low nibbles first.
void unpack_q4_0(const uint8_t* block, float* out, size_t stride) {
  uint16_t half;
  std::memcpy(&half, block, sizeof(half));
  const float scale = half_to_float(half);
  for (size_t i = 0; i < 16; ++i) {
    const int byte = block[2 + i];
    out[i * stride] = scale * static_cast<float>((byte & 15) - 8);
    out[(i + 16) * stride] = scale * static_cast<float>((byte >> 4) - 8);
  }
}

}  // namespace

void plain_elementwise(const Problem& problem, float* out, size_t begin, size_t end) {
  const float* a = problem.floats(0);
  const float* b = problem.floats(1);
  for (size_t i = begin; i < end; ++i) out[i] = a[i] * b[i] + a[i];
}

void plain_rms_norm(const Problem& problem, float* out, size_t begin, size_t end) {
  const size_t columns = problem.params.columns;
  const float* weight = problem.floats(1);
  for (size_t row = begin; row < end; ++row) {
    const float* x = problem.floats(0) + row * columns;
    float sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += x[c] * x[c];
    const float scale = 1 / std::sqrt(sum / static_cast<float>(columns) + problem.params.epsilon);
    for (size_t c = 0; c < columns; ++c) out[row * columns + c] = x[c] * scale * weight[c];
  }
}

void plain_softmax(const Problem& problem, float* out, size_t begin, size_t end) {
  const size_t columns = problem.params.columns;
  for (size_t row = begin; row < end; ++row) {
    const float* x = problem.floats(0) + row * columns;
    float* result = out + row * columns;
    float largest = -INFINITY, sum = 0;
    for (size_t c = 0; c < columns; ++c) largest = std::fmax(largest, x[c]);
    for (size_t c = 0; c < columns; ++c) {
      result[c] = std::exp(x[c] - largest);
      sum += result[c];
    }
    const float scale = 1 / sum;
    for (size_t c = 0; c < columns; ++c) result[c] *= scale;
  }
}

void plain_matvec_q4_0(const Problem& problem, float* out, size_t begin, size_t end) {
  const size_t blocks = problem.params.columns / 32;
  const float* x = problem.floats(1);
  for (size_t row = begin; row < end; ++row) {
    const uint8_t* in = problem.inputs[0].data() + row * blocks * 18;
    float sum = 0;
    for (size_t b = 0; b < blocks; ++b, in += 18) {
      uint16_t scale;
      std::memcpy(&scale, in, sizeof(scale));
      float part = 0;
      for (size_t i = 0; i < 16; ++i) {
        const int byte = in[2 + i];
        part += static_cast<float>((byte & 15) - 8) * x[b * 32 + i] +
                static_cast<float>((byte >> 4) - 8) * x[b * 32 + i + 16];
      }
      sum += part * half_to_float(scale);
    }
    out[row] = sum;
  }
}

// An item is kPlainRows rows of the result; the innermost loop runs along its rows.
void plain_matmul_f32(const Problem& problem, float* out, size_t begin, size_t end) {
  const size_t columns = problem.params.columns, width = problem.params.width;
  for (size_t row = begin * kPlainRows; row < end * kPlainRows; ++row) {
    const float* a = problem.floats(0) + row * columns;
    float* result = out + row * width;
    for (size_t j = 0; j < width; ++j) result[j] = 0;
    for (size_t k = 0; k < columns; ++k) {
      const float* b = problem.floats(1) + k * width;
      for (size_t j = 0; j < width; ++j) result[j] += a[k] * b[j];
    }
  }
}

// An item is kPlainRows rows of weights, unpacked side by side, so that one value of x meets as
// many weights as a vector holds.
void plain_matmul_q4_0(const Problem& problem, float* out, size_t begin, size_t end) {
  const size_t rows = problem.params.rows, columns = problem.params.columns;
  const size_t blocks = columns / 32;
  std::vector<float> weights(columns * kPlainRows);
  for (size_t item = begin; item < end; ++item) {
    const size_t first = item * kPlainRows;
    for (size_t r = 0; r < kPlainRows; ++r) {
      const uint8_t* in = problem.inputs[0].data() + (first + r) * blocks * 18;
      for (size_t b = 0; b < blocks; ++b) {
        unpack_q4_0(in + b * 18, weights.data() + b * 32 * kPlainRows + r, kPlainRows);
      }
    }
    for (size_t n = 0; n < problem.params.width; ++n) {
      const float* x = problem.floats(1) + n * columns;
      float sums[kPlainRows] = {};
      for (size_t k = 0; k < columns; ++k) {
        for (size_t r = 0; r < kPlainRows; ++r) sums[r] += weights[k * kPlainRows + r] * x[k];
      }
      for (size_t r = 0; r < kPlainRows; ++r) out[n * rows + first + r] = sums[r];
    }
  }
}

}  // namespace mlxn::bench
