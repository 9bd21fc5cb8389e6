// MSL: the norm of one row, which a threadgroup computes together.
#pragma once

#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/common/reduce.h"

// A thread's share of one row: elements first, first + step, ...
struct Row {
  ulong begin;
  uint dim, first, step;
};

template <typename T>
inline float inverse_rms(device const T* input, Row row, float eps, threadgroup float* scratch,
                         Place place) {
  Accumulator squares = 0;
  for (uint i = row.first; i < row.dim; i += row.step) {
    const float x = static_cast<float>(input[row.begin + i]);
    squares = fma(x, x, squares);
  }
  return rsqrt(threadgroup_sum(squares, scratch, place) / static_cast<float>(row.dim) + eps);
}

template <typename T, typename W>
inline T normalized(T x, float inverse, W weight) {
  return static_cast<T>(static_cast<float>(x) * inverse * static_cast<float>(weight));
}
