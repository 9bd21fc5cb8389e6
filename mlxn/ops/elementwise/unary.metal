// unary_{f32,f16,bf16}: output[i] = f(input[i]), f chosen by UnaryArgs.
// unary_wave_{f32,f16,bf16}: sine and cosine, whose reduction keeps the others from being vector
// code.
// Buffers: 0 input, 1 output, 2 UnaryArgs. Grid: threadgroups of whole simdgroups, each for `run`
// times as many elements. In place is allowed. Computed in float, rounded once.
#include "mlxn/ops/common/functions.h"
#include "mlxn/ops/elementwise/unary_args.h"

inline float signum(float x) {
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

inline float of_kind(mlxn::UnaryKind kind, float x, float a, float b) {
  using Kind = mlxn::UnaryKind;
  switch (kind) {
    case Kind::kNeg: return -x;
    case Kind::kAbs: return fabs(x);
    case Kind::kSqr: return x * x;
    case Kind::kSqrt: return sqrt(x);
    case Kind::kRsqrt: return rsqrt(x);
    case Kind::kExp: return exp(x);
    case Kind::kExpm1: return expm1_of(x);
    case Kind::kLog: return precise::log(x);
    case Kind::kTanh: return precise::tanh(x);
    case Kind::kSigmoid: return sigmoid_of(x);
    case Kind::kRelu: return relu_of(x);
    case Kind::kLeakyRelu: return x > 0.0f ? x : a * x;
    case Kind::kElu: return x > 0.0f ? x : a * expm1_of(x);
    case Kind::kGeluTanh: return gelu_tanh_of(x);
    case Kind::kGeluErf: return gelu_erf_of(x);
    case Kind::kGeluQuick: return gelu_quick_of(x);
    case Kind::kSilu: return silu_of(x);
    case Kind::kSoftplus: return softplus_of(x);
    case Kind::kHardswish: return bounded_below(x) * (clamped(x + 3.0f, 0.0f, 6.0f) / 6.0f);
    case Kind::kHardsigmoid: return clamped(x + 3.0f, 0.0f, 6.0f) / 6.0f;
    case Kind::kStep: return x > 0.0f ? 1.0f : x <= 0.0f ? 0.0f : x;
    case Kind::kSign: return signum(x);
    case Kind::kFloor: return floor(x);
    case Kind::kCeil: return ceil(x);
    case Kind::kRound: return round(x);
    case Kind::kTrunc: return trunc(x);
    case Kind::kSoftcap: return precise::tanh(x / a) * a;
    case Kind::kClamp: return clamped(x, a, b);
    case Kind::kAffine: return fma(x, a, b);
    default: return x;  // of Waves
  }
}

struct Plain {
  static float of(constant UnaryArgs& args, float x) {
    return of_kind(args.kind, x, args.a, args.b);
  }
};
struct Waves {
  static float of(constant UnaryArgs& args, float x) {
    return args.kind == mlxn::UnaryKind::kSin ? precise::sin(x) : precise::cos(x);
  }
};

template <typename T, typename Functions>
[[kernel]] void unary(device const T* input [[buffer(0)]], device T* output [[buffer(1)]],
                      constant UnaryArgs& args [[buffer(2)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_position_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]]) {
  const uint begin = group * threads * args.run;
  device const T* x = input + begin + thread_index;
  device T* y = output + begin + thread_index;
  const uint full = min(args.run, (args.count - begin) / threads);  // rounds for all threads
  for (uint j = 0; j < full; ++j) {
    const uint at = j * threads;
    y[at] = static_cast<T>(Functions::of(args, static_cast<float>(x[at])));
  }
  const uint at = full * threads;
  if (full < args.run && at + thread_index < args.count - begin) {
    y[at] = static_cast<T>(Functions::of(args, static_cast<float>(x[at])));
  }
}

MLXN_KERNEL("unary_f32", unary, float, Plain);
MLXN_KERNEL("unary_f16", unary, half, Plain);
MLXN_KERNEL("unary_bf16", unary, bfloat, Plain);
MLXN_KERNEL("unary_wave_f32", unary, float, Waves);
MLXN_KERNEL("unary_wave_f16", unary, half, Waves);
MLXN_KERNEL("unary_wave_bf16", unary, bfloat, Waves);
