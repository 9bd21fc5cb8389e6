// MSL: the mean of a row and what it is divided by.
#pragma once

#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/norm/norm_kind.h"

struct Moments {
  float mean, inverse;  // a normed element is (x - mean) * inverse
};

// Values that lie side by side.
template <typename T>
struct Elements {
  device const T* row;
  float operator()(ulong i) const { return static_cast<float>(row[i]); }
};

template <typename Value>
struct Total {
  Value value;
  Accumulator total;
  void operator()(ulong i) { total += value(i); }
};
template <typename Value>
struct Squares {
  Value value;
  float mean;
  Accumulator total;
  void operator()(ulong i) {
    const float x = value(i) - mean;
    total += x * x;
  }
};

// Of `count` values: value(i) for i = first, first + step, ... is this thread's share.
template <typename Value>
inline Moments moments_of(Value value, uint count, uint first, uint step, mlxn::NormKind kind,
                          float eps, threadgroup float* scratch, Place place) {
  const float n = static_cast<float>(count);
  float mean = 0;
  if (kind == mlxn::NormKind::kLayer) {
    Total<Value> sum = {value, 0.0f};
    for_each(count, first, step, sum);
    mean = threadgroup_sum(sum.total, scratch, place) / n;
  }
  Squares<Value> squares = {value, mean, 0.0f};
  for_each(count, first, step, squares);
  const float sum = threadgroup_sum(squares.total, scratch, place);
  if (kind == mlxn::NormKind::kL2AtLeast) {
    const float root = sqrt(sum);
    return {0.0f, 1.0f / (root < eps ? eps : root)};  // a NaN stays
  }
  return {mean, rsqrt((kind == mlxn::NormKind::kL2 ? sum : sum / n) + eps)};
}
