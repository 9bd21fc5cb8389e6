// head_norm_rope_{f32,f16,bf16}: output = rope(input / rms(input) * weight), head by head.
// Buffers: 0 input [tokens, heads, dim], 1 weight, 2 table [tokens, pairs] of cosine and sine,
// 3 output, 4 copy, 5 permuted, 6 HeadNormRopeArgs; what the args do not name may be any buffer.
// Grid: one threadgroup for each head of each token. Threadgroup memory 0: a float for each thread.
// A thread reads and writes two elements, so in place is allowed. Weights of f16 are f32. Computed
// in float, rounded once for each output.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/norm/head_norm_rope_args.h"
#include "mlxn/ops/norm/norm_arithmetic.h"
#include "mlxn/ops/rope/rope_places.h"

template <typename T, typename W>
[[kernel]] void head_norm_rope(device const T* input [[buffer(0)]],
                               device const W* weight [[buffer(1)]],
                               device const float2* table [[buffer(2)]],
                               device T* output [[buffer(3)]], device bfloat* copy [[buffer(4)]],
                               device T* permuted [[buffer(5)]],
                               constant HeadNormRopeArgs& args [[buffer(6)]], MLXN_ROW_ARGUMENTS) {
  constant RopePlaces& places = args.places;
  const uint token = group / args.heads, head = group % args.heads;
  const ulong dim = args.dim, begin = group * dim;
  const ulong other = (static_cast<ulong>(head) * args.tokens + token) * dim;
  device const T* x = input + begin;
  device const float2* turns = table + static_cast<ulong>(token) * places.pairs;
  device bfloat* copied = copy + (args.parts & kHeadCopyPermuted ? other : begin);
  const Moments moments = moments_of(Elements<T>{x}, args.dim, first, step, mlxn::NormKind::kRms,
                                     args.eps, scratch, MLXN_ROW_PLACE);
  for (uint i = first; i < args.dim / 2; i += step) {
    uint2 at = {0, 0};
    float2 turn = {1, 0};
    if (i < places.pairs) {
      at = pair_of(places, i);
      turn = turns[i];
    } else {
      const uint rest = 2 * (i - places.pairs);
      at = {unpaired(places, rest), unpaired(places, rest + 1)};
    }
    float2 pair = {static_cast<float>(x[at.x]), static_cast<float>(x[at.y])};
    pair *= moments.inverse;
    if (args.parts & kHeadWeight) {
      pair *= float2(static_cast<float>(weight[at.x]), static_cast<float>(weight[at.y]));
    }
    if (i < places.pairs) pair = turned(pair, turn);  // an infinity elsewhere stays one
    (output + begin)[at.x] = static_cast<T>(pair.x);
    (output + begin)[at.y] = static_cast<T>(pair.y);
    if (args.parts & kHeadCopy) {
      copied[at.x] = static_cast<bfloat>(pair.x);
      copied[at.y] = static_cast<bfloat>(pair.y);
    }
    if (args.parts & kHeadPermuted) {
      (permuted + other)[at.x] = static_cast<T>(pair.x);
      (permuted + other)[at.y] = static_cast<T>(pair.y);
    }
  }
}

MLXN_KERNEL("head_norm_rope_f32", head_norm_rope, float, float);
MLXN_KERNEL("head_norm_rope_f16", head_norm_rope, half, float);
MLXN_KERNEL("head_norm_rope_bf16", head_norm_rope, bfloat, bfloat);
