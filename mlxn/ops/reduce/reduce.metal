// reduce_{f32,f16,bf16}: one number for each row, of the kind that ReduceArgs name.
// Buffers: 0 input [rows, columns], 1 output f32 [rows], 2 ReduceArgs. Grid: one threadgroup for
// each row. Threadgroup memory 0: a float for each thread. Computed in float.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/reduce/reduce_args.h"

// All threads get the result, as of threadgroup_sum.
inline float threadgroup_product(float value, threadgroup float* scratch, Place place) {
  value = simd_product(value);
  if (place.lane == 0) scratch[place.simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float total = scratch[0];
  for (uint i = 1; i < place.simdgroups; ++i) total *= scratch[i];
  return total;
}

// A thread's share of a row: elements first, first + step, ...
template <typename T>
struct Share {
  device const T* x;
  uint columns, first, step;

  // Sums of sums, so that long rows keep their digits.
  float sum() const {
    constexpr uint kRounds = 256;
    Accumulator total = 0;
    for (uint begin = 0; begin < columns; begin += kRounds * step) {
      const uint end = columns - begin > kRounds * step ? begin + kRounds * step : columns;
      Accumulator part = 0;
      for (uint i = begin + first; i < end; i += step) part += static_cast<float>(x[i]);
      total += part;
      if (end == columns) break;  // the next begin may not fit
    }
    return total;
  }
  // Largest of x or of -x.
  float most(float sign) const {
    float out = -INFINITY;
    for (uint i = first; i < columns; i += step) out = fmax(out, sign * static_cast<float>(x[i]));
    return out;
  }
  float product() const {
    Accumulator out = 1;
    for (uint i = first; i < columns; i += step) out *= static_cast<float>(x[i]);
    return out;
  }
  float exp_sum(float top) const {
    Accumulator total = 0;
    for (uint i = first; i < columns; i += step) total += exp(static_cast<float>(x[i]) - top);
    return total;
  }
};

template <typename T>
inline float reduced(Share<T> share, mlxn::ReduceKind kind, threadgroup float* scratch,
                     Place place) {
  using Kind = mlxn::ReduceKind;
  switch (kind) {
    case Kind::kSum: return threadgroup_sum(share.sum(), scratch, place);
    case Kind::kMean:
      return threadgroup_sum(share.sum(), scratch, place) / static_cast<float>(share.columns);
    case Kind::kMax: return threadgroup_max(share.most(1.0f), scratch, place);
    case Kind::kMin: return -threadgroup_max(share.most(-1.0f), scratch, place);
    case Kind::kProduct: return threadgroup_product(share.product(), scratch, place);
    default: {
      const float most = threadgroup_max(share.most(1.0f), scratch, place);
      const float top = fabs(most) == INFINITY ? 0.0f : most;
      const float total = threadgroup_sum(share.exp_sum(top), scratch, place);
      return precise::log(total) + top;
    }
  }
}

template <typename T>
[[kernel]] void reduce(device const T* input [[buffer(0)]], device float* output [[buffer(1)]],
                       constant ReduceArgs& args [[buffer(2)]], MLXN_ROW_ARGUMENTS) {
  const Share<T> share = {input + static_cast<ulong>(group) * args.columns, args.columns, first,
                          step};
  const float result = reduced(share, args.kind, scratch, MLXN_ROW_PLACE);
  if (first == 0) output[group] = result;
}

MLXN_KERNEL("reduce_f32", reduce, float);
MLXN_KERNEL("reduce_f16", reduce, half);
MLXN_KERNEL("reduce_bf16", reduce, bfloat);
