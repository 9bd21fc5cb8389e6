// rope_{adjacent,halves}_f32: turns pair i of each head by position * frequency[i] / factor[i].
// Buffers: 0 input [tokens, heads, dim], 1 positions [tokens], 2 output, 3 factors [pairs] (any
// buffer when there are none), 4 RopeArgs, 5 RopeFrequencies. Grid: (dim / 2, heads, tokens), any
// threadgroup. A thread reads and writes two elements, so in place is allowed.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/rope/rope_args.h"

struct Turn {
  float sine, cosine;
};

// The angle is a product of two floats with its rounding error; that rest turns the result a little
// further, by the first terms of its own sine and cosine.
inline Turn turn_of(float position, RopeFrequency frequency, float factor) {
  const float high = frequency.high / factor;
  const float low = (fma(-high, factor, frequency.high) + frequency.low) / factor;
  const float angle = position * high;
  const float rest = fma(position, high, -angle) + position * low;
  const float s = precise::sin(angle), c = precise::cos(angle);
  const float most = fma(-0.5f * rest, rest, 1.0f);
  return {fma(rest, c, s * most), fma(-rest, s, c * most)};
}

// Elements of pair i; pairs that do not turn take what is left of the head in order.
struct Adjacent {
  static uint2 elements(uint i, uint) { return {2 * i, 2 * i + 1}; }
};
struct Halves {
  static uint2 elements(uint i, uint pairs) {
    return i < pairs ? uint2(i, i + pairs) : uint2(2 * i, 2 * i + 1);
  }
};

template <typename Pairs>
[[kernel]] void rope(device const float* input [[buffer(0)]],
                     device const uint* positions [[buffer(1)]], device float* output [[buffer(2)]],
                     device const float* factors [[buffer(3)]],
                     constant RopeArgs& args [[buffer(4)]],
                     constant RopeFrequencies& frequencies [[buffer(5)]],
                     uint3 place [[thread_position_in_grid]]) {
  const uint i = place.x;
  const ulong head = (static_cast<ulong>(place.z) * args.heads + place.y) * args.dim;
  const uint2 at = Pairs::elements(i, args.pairs);
  const float x = input[head + at.x], y = input[head + at.y];
  Turn turn = {0, 1};
  if (i < args.pairs) {
    const float factor = args.has_factors ? factors[i] : 1.0f;
    turn = turn_of(static_cast<float>(positions[place.z]), frequencies.of[i], factor);
  }
  output[head + at.x] = i < args.pairs ? x * turn.cosine - y * turn.sine : x;
  output[head + at.y] = i < args.pairs ? x * turn.sine + y * turn.cosine : y;
}

MLXN_KERNEL("rope_adjacent_f32", rope, Adjacent);
MLXN_KERNEL("rope_halves_f32", rope, Halves);
