// rope_table_f32: cosine and sine of position * frequency[i] / factor[i] for every position.
// Buffers: 0 positions [axes, tokens], 1 factors [pairs] (any buffer when there are none), 2 output
// [tokens, pairs], 3 RopeTableArgs, 4 RopeFrequencies. Grid: (pairs, tokens), any threadgroup.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/rope/rope_args.h"

// The angle is a product of two floats with its rounding error; that rest turns the result a little
// further, by the first terms of its own sine and cosine.
inline float2 turn_of(float position, RopeFrequency frequency, float factor) {
  const float high = frequency.high / factor;
  const float low = (fma(-high, factor, frequency.high) + frequency.low) / factor;
  const float angle = position * high;
  const float rest = fma(position, high, -angle) + position * low;
  const float s = precise::sin(angle), c = precise::cos(angle);
  const float most = fma(-0.5f * rest, rest, 1.0f);
  return {fma(-rest, s, c * most), fma(rest, c, s * most)};
}

[[kernel]] void rope_table_f32(device const uint* positions [[buffer(0)]],
                               device const float* factors [[buffer(1)]],
                               device float2* output [[buffer(2)]],
                               constant RopeTableArgs& args [[buffer(3)]],
                               constant RopeFrequencies& frequencies [[buffer(4)]],
                               uint2 place [[thread_position_in_grid]]) {
  const uint i = place.x, token = place.y;
  const float factor = args.has_factors ? factors[i] : 1.0f;
  const uint position = positions[static_cast<ulong>(frequencies.axis[i]) * args.tokens + token];
  const float number =
      args.is_signed ? static_cast<float>(as_type<int>(position)) : static_cast<float>(position);
  output[static_cast<ulong>(token) * args.pairs + i] =
      turn_of(number, frequencies.of[i], factor) * args.magnitude;
}
