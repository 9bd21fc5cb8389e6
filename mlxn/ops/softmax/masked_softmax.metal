// masked_softmax_{f32,f16,bf16}: output = softmax(input * scale + slope * mask), row by row; see
// masked_softmax.h.
// Buffers: 0 input [rows, columns], 1 mask [queries, columns], 2 slopes [heads], 3 sinks [heads],
// 4 output, 5 MaskedSoftmaxArgs; what the args do not name may be any buffer. Grid: one threadgroup
// for each row. Threadgroup memory 0: a float for each thread. Computed in float, rounded once. In
// place is allowed.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/softmax/masked_softmax_args.h"

// Stands for -infinity in a mask, so that a product with a slope of zero hides as well.
constant constexpr float kLowest = -0x1.fffffep127f;

// Scores of a row. `M` is the mask's type, or int for none.
template <typename T, typename M>
struct Scores {
  device const T* x;
  device const M* mask;
  float scale, slope;

  float operator()(uint i) const {
    const float hidden = static_cast<float>(mask[i]) * slope;  // NaN for infinity times zero
    return static_cast<float>(x[i]) * scale + fmax(hidden, kLowest);
  }
};
template <typename T>
struct Scores<T, int> {
  device const T* x;
  device const int* mask;
  float scale, slope;

  float operator()(uint i) const { return static_cast<float>(x[i]) * scale; }
};

template <typename Values, typename T>
inline void softmax_row(Values value, float sink, device T* y, uint columns, RowThreads threads) {
  const uint first = threads.first, step = threads.step;
  float most = -INFINITY;
  for (uint i = first; i < columns; i += step) most = max(most, value(i));
  most = max(sink, threadgroup_max(most, threads.scratch, threads.place));
  const bool is_hidden = most < -3e38f;
  const float top = is_hidden ? 0.0f : most;
  // Floats keep the numerators, so that each is computed once.
  constexpr bool kept = sizeof(T) == sizeof(float);
  Accumulator total = 0;
  for (uint i = first; i < columns; i += step) {
    const float numerator = exp(value(i) - top);
    if (kept) y[i] = static_cast<T>(numerator);
    total += numerator;
  }
  const float sum = threadgroup_sum(total, threads.scratch, threads.place) + exp(sink - top);
  const float inverse = is_hidden && sum == 0.0f ? 0.0f : 1.0f / sum;
  for (uint i = first; i < columns; i += step) {
    const float numerator = kept ? static_cast<float>(y[i]) : exp(value(i) - top);
    y[i] = static_cast<T>(numerator * inverse);
  }
}

template <typename T>
[[kernel]] void masked_softmax(device const T* input [[buffer(0)]],
                               device const void* mask [[buffer(1)]],
                               device const float* slopes [[buffer(2)]],
                               device const float* sinks [[buffer(3)]],
                               device T* output [[buffer(4)]],
                               constant MaskedSoftmaxArgs& args [[buffer(5)]], MLXN_ROW_ARGUMENTS) {
  const uint columns = args.columns;
  const uint query = group % args.queries, head = group / args.queries % args.heads;
  const ulong begin = static_cast<ulong>(group) * columns;
  const ulong masked = static_cast<ulong>(query) * columns;
  const float slope = args.has_slopes ? slopes[head] : 1.0f, scale = args.scale;
  const float sink = args.has_sinks ? sinks[head] : -INFINITY;
  const RowThreads threads = MLXN_ROW_THREADS;
  device const T* x = input + begin;
  device T* y = output + begin;
  switch (args.mask) {
    case kMaskF32: {
      device const float* row = static_cast<device const float*>(mask) + masked;
      return softmax_row(Scores<T, float>{x, row, scale, slope}, sink, y, columns, threads);
    }
    case kMaskF16: {
      device const half* row = static_cast<device const half*>(mask) + masked;
      return softmax_row(Scores<T, half>{x, row, scale, slope}, sink, y, columns, threads);
    }
    case kMaskBf16: {
      device const bfloat* row = static_cast<device const bfloat*>(mask) + masked;
      return softmax_row(Scores<T, bfloat>{x, row, scale, slope}, sink, y, columns, threads);
    }
    default:
      return softmax_row(Scores<T, int>{x, nullptr, scale, slope}, sink, y, columns, threads);
  }
}

MLXN_KERNEL("masked_softmax_f32", masked_softmax, float);
MLXN_KERNEL("masked_softmax_f16", masked_softmax, half);
MLXN_KERNEL("masked_softmax_bf16", masked_softmax, bfloat);
