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

// A head: its elements normed, and where they go. `known` are its parts, or kAnyParts.
constant constexpr uint kAnyParts = ~0u;

template <typename T, typename W, uint known>
struct Head {
  device const T* x;
  device const W* weight;
  device T* y;
  device bfloat* copied;
  device T* permuted;
  uint parts;
  float inverse;

  bool has(uint part) const { return ((known == kAnyParts ? parts : known) & part) != 0; }
  float normed(uint i) const {
    const float value = static_cast<float>(x[i]) * inverse;
    return has(kHeadWeight) ? value * static_cast<float>(weight[i]) : value;
  }
  void store(uint i, float value) const {
    y[i] = static_cast<T>(value);
    if (has(kHeadCopy)) copied[i] = static_cast<bfloat>(value);
    if (has(kHeadPermuted)) permuted[i] = static_cast<T>(value);
  }
  void turn(uint a, uint b, float2 by) const {
    const float2 pair = turned(float2(normed(a), normed(b)), by);
    store(a, pair.x);
    store(b, pair.y);
  }
  // Elements that do not turn, this thread's share.
  void keep(uint begin, uint end, uint first, uint step) const {
    for (uint i = begin + first; i < end; i += step) store(i, normed(i));
  }
};

template <uint known, typename T, typename W>
inline void norm_and_turn(Head<T, W, kAnyParts> any, device const float2* turns,
                          constant HeadNormRopeArgs& args, uint first, uint step) {
  const Head<T, W, known> head = {any.x,        any.weight, any.y,      any.copied,
                                  any.permuted, any.parts,  any.inverse};
  const RopePlaces places = args.places;
  const uint offset = places.offset, pairs = places.pairs;
  if (places.adjacent) {
    for (uint i = first; i < pairs; i += step)
      head.turn(offset + 2 * i, offset + 2 * i + 1, turns[i]);
  }
  // Block by block, so that neighbours stay neighbours.
  for (uint done = 0; !places.adjacent && done < pairs; done += places.block) {
    const uint at = offset + 2 * done;
    for (uint i = first; i < places.block; i += step)
      head.turn(at + i, at + i + places.split, turns[done + i]);
  }
  // Before the pairs, between their halves and behind them.
  const uint gap = places.adjacent ? 0 : places.split - places.block;
  head.keep(0, offset, first, step);
  head.keep(offset + pairs, offset + pairs + gap, first, step);
  head.keep(offset + 2 * pairs + gap, args.dim, first, step);
}

template <typename T, typename W>
[[kernel]] void head_norm_rope(device const T* input [[buffer(0)]],
                               device const W* weight [[buffer(1)]],
                               device const float2* table [[buffer(2)]],
                               device T* output [[buffer(3)]], device bfloat* copy [[buffer(4)]],
                               device T* permuted [[buffer(5)]],
                               constant HeadNormRopeArgs& args [[buffer(6)]], MLXN_ROW_ARGUMENTS) {
  const uint token = group / args.heads, head = group % args.heads;
  const ulong dim = args.dim, begin = group * dim;
  const ulong other = (static_cast<ulong>(head) * args.tokens + token) * dim;
  const Moments moments = moments_of(Elements<T>{input + begin}, args.dim, first, step,
                                     mlxn::NormKind::kRms, args.eps, scratch, MLXN_ROW_PLACE);
  const Head<T, W, kAnyParts> own = {
      input + begin,    weight,
      output + begin,   copy + (args.parts & kHeadCopyPermuted ? other : begin),
      permuted + other, args.parts,
      moments.inverse};
  device const float2* turns = table + static_cast<ulong>(token) * args.places.pairs;
  // What models use has loops without questions.
  switch (args.parts) {
    case 0: return norm_and_turn<0>(own, turns, args, first, step);
    case kHeadWeight: return norm_and_turn<kHeadWeight>(own, turns, args, first, step);
    default: return norm_and_turn<kAnyParts>(own, turns, args, first, step);
  }
}

MLXN_KERNEL("head_norm_rope_f32", head_norm_rope, float, float);
MLXN_KERNEL("head_norm_rope_f16", head_norm_rope, half, float);
MLXN_KERNEL("head_norm_rope_bf16", head_norm_rope, bfloat, bfloat);
