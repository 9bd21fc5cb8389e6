// MSL: the mean of a row and what it is divided by.
#pragma once

#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/norm/norm_kind.h"

struct Moments {
  float mean, inverse;  // a normed element is (x - mean) * inverse
};

// Values that lie side by side.
template <typename T>
struct Elements {
  device const T* row;
  float operator()(uint i) const { return static_cast<float>(row[i]); }
};

// Of `count` values: value(i) for i = first, first + step, ... is this thread's share.
template <typename Value>
inline Moments moments_of(Value value, uint count, uint first, uint step, mlxn::NormKind kind,
                          float eps, threadgroup float* scratch, Place place) {
  const float n = static_cast<float>(count);
  float mean = 0;
  if (kind == mlxn::NormKind::kLayer) {
    Accumulator total = 0;
    for (uint i = first; i < count; i += step) total += value(i);
    mean = threadgroup_sum(total, scratch, place) / n;
  }
  Accumulator squares = 0;
  for (uint i = first; i < count; i += step) {
    const float x = value(i) - mean;
    squares += x * x;
  }
  const float sum = threadgroup_sum(squares, scratch, place);
  if (kind == mlxn::NormKind::kL2AtLeast) {
    const float root = sqrt(sum);
    return {0.0f, 1.0f / (root < eps ? eps : root)};  // a NaN stays
  }
  return {mean, rsqrt((kind == mlxn::NormKind::kL2 ? sum : sum / n) + eps)};
}
