// group_norm_{f32,f16,bf16}: (x - mean) / sqrt(variance + eps) * weight + bias, group by group.
// Buffers: 0 input [batch, groups, channels, places], 1 weight, 2 bias, 3 output, 4 GroupNormArgs.
// Grid: one threadgroup for each group. Threadgroup memory 0: a float for each thread. In place is
// allowed. Weights of f16 are f32. Computed in float, rounded once.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/norm/group_norm_args.h"
#include "mlxn/ops/norm/norm_arithmetic.h"

// Of a group's channels.
template <typename W>
struct Affine {
  device const W* weight;
  device const W* bias;
  bool has_weight, has_bias;

  float scale(uint channel) const {
    return has_weight ? static_cast<float>(weight[channel]) : 1.0f;
  }
  float shift(uint channel) const { return has_bias ? static_cast<float>(bias[channel]) : 0.0f; }
};

template <typename T, typename W>
[[kernel]] void group_norm(device const T* input [[buffer(0)]],
                           device const W* weight [[buffer(1)]], device const W* bias [[buffer(2)]],
                           device T* output [[buffer(3)]],
                           constant GroupNormArgs& args [[buffer(4)]], MLXN_ROW_ARGUMENTS) {
  const uint dim = args.channels * args.places;
  const ulong begin = static_cast<ulong>(group) * dim;
  const Moments moments = moments_of(Elements<T>{input + begin}, dim, first, step,
                                     mlxn::NormKind::kLayer, args.eps, scratch, MLXN_ROW_PLACE);
  const uint channel = group % args.groups * args.channels;
  const Affine<W> affine = {weight + channel, bias + channel, args.has_weight != 0,
                            args.has_bias != 0};
  device const T* x = input + begin;
  device T* y = output + begin;
  if (args.places < step) {  // too few for all threads: they go over the whole group
    for (uint i = first; i < dim; i += step) {
      const float normed = (static_cast<float>(x[i]) - moments.mean) * moments.inverse;
      const uint c = i / args.places;
      y[i] = static_cast<T>(normed * affine.scale(c) + affine.shift(c));
    }
    return;
  }
  for (uint c = 0; c < args.channels; ++c) {
    const float scale = affine.scale(c), shift = affine.shift(c);
    for (uint i = first; i < args.places; i += step) {
      const float normed = (static_cast<float>(x[i]) - moments.mean) * moments.inverse;
      y[i] = static_cast<T>(normed * scale + shift);
    }
    x += args.places;
    y += args.places;
  }
}

MLXN_KERNEL("group_norm_f32", group_norm, float, float);
MLXN_KERNEL("group_norm_f16", group_norm, half, float);
MLXN_KERNEL("group_norm_bf16", group_norm, bfloat, bfloat);
