// norm_{f32,f16,bf16}: rows divided by their norm, and what belongs around it; see norm.h.
// Buffers: 0 input, 1 residual, 2 weight, 3 bias, 4 gate, 5 factor, 6 output, 7 sum, 8 copy,
// 9 NormArgs; what the args do not name may be any buffer. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. Output and sum may be input or residual: every
// thread reads its elements before it writes them. Weights of f16 are f32. Computed in float,
// rounded once for each output.
#include "mlxn/ops/common/functions.h"
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/norm/norm_args.h"
#include "mlxn/ops/norm/norm_arithmetic.h"

// Where row `row` of [tokens, heads] lies in [heads, tokens].
inline ulong permuted_row(uint row, uint heads, uint tokens) {
  return static_cast<ulong>(row % heads) * tokens + row / heads;
}

// A row and all that goes into it and comes out. `known` are its parts, or kAnyParts.
constant constexpr uint kAnyParts = ~0u;

template <typename T, typename W, uint known>
struct NormRow {
  device const T* input;
  device const T* residual;
  device const W* weight;
  device const W* bias;
  device const T* gate;
  device const W* factor;
  device T* output;
  device T* total;
  device bfloat* copied;
  uint parts;

  bool has(uint part) const { return ((known == kAnyParts ? parts : known) & part) != 0; }

  float operator()(ulong i) const {
    const float x = static_cast<float>(input[i]);
    return has(kNormResidualFirst) ? x + static_cast<float>(residual[i]) : x;
  }

  void store(ulong i, Moments moments) const {
    const float x = (*this)(i);
    float y = (x - moments.mean) * moments.inverse;
    if (has(kNormWeight)) y *= static_cast<float>(weight[i]);
    if (has(kNormBias)) y += static_cast<float>(bias[i]);
    if (has(kNormGate)) y *= silu_of(static_cast<float>(gate[i]));
    if (has(kNormResidualLast)) y += static_cast<float>(residual[i]);
    if (has(kNormFactor)) y *= static_cast<float>(factor[has(kNormFactorRow) ? i : 0]);
    if (has(kNormSum)) total[i] = static_cast<T>(x);
    output[i] = static_cast<T>(y);
    if (has(kNormCopy)) copied[i] = static_cast<bfloat>(y);
  }
};

template <uint known, typename T, typename W>
inline void norm_row(NormRow<T, W, kAnyParts> any, constant NormArgs& args, RowThreads threads) {
  const NormRow<T, W, known> row = {any.input,  any.residual, any.weight, any.bias,   any.gate,
                                    any.factor, any.output,   any.total,  any.copied, any.parts};
  const uint dim = args.dim, first = threads.first, step = threads.step;
  const Moments moments =
      moments_of(row, dim, first, step, args.kind, args.eps, threads.scratch, threads.place);
  const uint full = dim - dim % step;  // rounds of all threads stay together
  for (uint at = 0; at < full; at += step) row.store(at + first, moments);
  if (full + first < dim) row.store(full + first, moments);
}

template <typename T, typename W>
[[kernel]] void norm(device const T* input [[buffer(0)]], device const T* residual [[buffer(1)]],
                     device const W* weight [[buffer(2)]], device const W* bias [[buffer(3)]],
                     device const T* gate [[buffer(4)]], device const W* factor [[buffer(5)]],
                     device T* output [[buffer(6)]], device T* total [[buffer(7)]],
                     device bfloat* copy [[buffer(8)]], constant NormArgs& args [[buffer(9)]],
                     MLXN_ROW_ARGUMENTS) {
  const ulong begin = static_cast<ulong>(group) * args.dim;
  device bfloat* copied = copy + permuted_row(group, args.heads, args.tokens) * args.dim;
  const NormRow<T, W, kAnyParts> row = {
      input + begin, residual + begin, weight,        bias,   gate + begin,
      factor,        output + begin,   total + begin, copied, args.parts};
  const RowThreads threads = MLXN_ROW_THREADS;
  // What models use has loops without questions.
  switch (args.parts) {
    case 0: return norm_row<0>(row, args, threads);
    case kNormWeight: return norm_row<kNormWeight>(row, args, threads);
    case kNormWeight | kNormBias: return norm_row < kNormWeight | kNormBias > (row, args, threads);
    case kNormWeight | kNormGate: return norm_row < kNormWeight | kNormGate > (row, args, threads);
    case kNormWeight | kNormResidualLast:
      return norm_row < kNormWeight | kNormResidualLast > (row, args, threads);
    case kNormWeight | kNormResidualFirst | kNormSum:
      return norm_row < kNormWeight | kNormResidualFirst | kNormSum > (row, args, threads);
    default: return norm_row<kAnyParts>(row, args, threads);
  }
}

MLXN_KERNEL("norm_f32", norm, float, float);
MLXN_KERNEL("norm_f16", norm, half, float);
MLXN_KERNEL("norm_bf16", norm, bfloat, bfloat);
