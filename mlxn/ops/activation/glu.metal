// glu_{f32,f16,bf16}: output[r][i] = f(gate[r][i]) * up[r][i], f chosen by GluArgs.
// Buffers: 0 gate, 1 up, 2 output, 3 GluArgs; gate and up may be one buffer. Grid: threadgroups of
// whole simdgroups, each for `run` times as many elements of a row, x rows. In place is allowed.
// Computed in float, rounded once.
#include "mlxn/ops/activation/glu_args.h"
#include "mlxn/ops/common/functions.h"

inline float gated(constant GluArgs& args, float gate, float up) {
  using Kind = mlxn::GluKind;
  switch (args.kind) {
    case Kind::kSwiglu: return silu_of(gate) * up;
    case Kind::kGegluTanh: return gelu_tanh_of(gate) * up;
    case Kind::kGegluErf: return gelu_erf_of(gate) * up;
    case Kind::kGegluQuick: return gelu_quick_of(gate) * up;
    case Kind::kReglu: return relu_of(gate) * up;
    case Kind::kSigmoid: return sigmoid_of(gate) * up;
    default: {
      const float g = bounded_below(gate > args.limit ? args.limit : gate);
      return g / (1.0f + exp(-args.alpha * g)) * (1.0f + clamped(up, -args.limit, args.limit));
    }
  }
}

template <typename T>
[[kernel]] void glu(device const T* gate [[buffer(0)]], device const T* up [[buffer(1)]],
                    device T* output [[buffer(2)]], constant GluArgs& args [[buffer(3)]],
                    uint2 group [[threadgroup_position_in_grid]],
                    uint2 thread_index [[thread_position_in_threadgroup]],
                    uint2 threads [[threads_per_threadgroup]]) {
  const uint begin = group.x * threads.x * args.run;
  const ulong row = static_cast<ulong>(group.y) * args.stride + begin + thread_index.x;
  device const T* g = gate + args.gate + row;
  device const T* u = up + args.up + row;
  device T* y = output + static_cast<ulong>(group.y) * args.dim + begin + thread_index.x;
  const uint full = min(args.run, (args.dim - begin) / threads.x);  // rounds for all threads
  for (uint j = 0; j < full; ++j) {
    const uint at = j * threads.x;
    y[at] = static_cast<T>(gated(args, static_cast<float>(g[at]), static_cast<float>(u[at])));
  }
  const uint at = full * threads.x;
  if (full < args.run && at + thread_index.x < args.dim - begin) {
    y[at] = static_cast<T>(gated(args, static_cast<float>(g[at]), static_cast<float>(u[at])));
  }
}

MLXN_KERNEL("glu_f32", glu, float);
MLXN_KERNEL("glu_f16", glu, half);
MLXN_KERNEL("glu_bf16", glu, bfloat);
