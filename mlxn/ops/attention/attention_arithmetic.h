// MSL: numbers of attention, exact or rounded. Both work on pairs: two elements of a query and a
// key, or two weights and the values of two positions.
#pragma once

#include "mlxn/ops/common/dot.h"

// 2^(x + Raise); zero where x is below about -127 - Raise.
template <uint Raise>
inline float raised_exp2(float x) {
  constexpr float kLeast = -127.0f - Raise, kRound = 0x1.8p23f;  // added, leaves no fraction
  const float limited = x < kLeast ? kLeast : x;                 // a NaN stays
  const float rounded = limited + kRound, f = limited - (rounded - kRound);
  const float p =
      fma(fma(fma(fma(f, 0.00961813f, 0.05550411f), f, 0.24022651f), f, 0.69314718f), f, 1.0f);
  return p * as_type<float>((as_type<uint>(rounded) << 23) + ((127 + Raise) << 23));
}

// Floats all along, with a cache of T.
template <typename T>
struct ExactNumbers {
  static constexpr constant bool kFinite = false;  // the cache may hold infinities and NaN
  static constexpr constant float kScore = 1;      // a score is this times a sum of products
  static constexpr constant bool kInPlace = true;  // weights are as large as scores
  static constexpr constant bool kRounds = false;  // results may be rounded to 8 bits
  using Weight = float;
  using Pair = float2;       // of queries and of weights
  using Stored = vec<T, 2>;  // in the cache
  using Loaded = float2;

  static Pair query(float2 elements) { return elements; }
  static Loaded load(Stored pair) { return static_cast<float2>(pair); }
  static Pair pair(Weight first, Weight second) { return {first, second}; }
  static float add(Pair a, Loaded b, float sum) { return fma(a.y, b.y, fma(a.x, b.x, sum)); }
  static float scaling(float difference) { return exp(difference); }
  static Weight weight(float difference) { return exp(difference); }
  static float value(Weight weight) { return weight; }
  static float result(float sum, float total) { return sum / total; }
};

// Queries, keys, weights and values rounded to bfloats, of which two make a word, with a cache of
// half. A half becomes a bfloat by its bits alone: its exponent stays in place, which makes it
// smaller by 2^112, and its last three bits are rounded away. So infinities and NaN of the cache
// are finite numbers, from 2^16 on. The other operand is larger by 2^56, to meet halfway.
struct RoundedNumbers {
  static constexpr constant bool kFinite = true;
  static constexpr constant float kScore = 0x1p56f;
  static constexpr constant bool kInPlace = false;
  static constexpr constant bool kRounds = true;
  using Weight = ushort;  // a bfloat
  using Pair = bfloat2;
  using Stored = uint;
  using Loaded = bfloat2;

  static Pair query(float2 elements) { return static_cast<bfloat2>(elements * 0x1p56f); }
  static Loaded load(Stored pair) {
    const uint magnitudes = (pair & 0x7fff7fffu) + 0x00040004u;
    return as_type<bfloat2>((magnitudes >> 3 & 0x1fff1fffu) | (pair & 0x80008000u));
  }
  static Pair pair(Weight first, Weight second) { return as_type<bfloat2>(ushort2(first, second)); }
  static float add(Pair a, Loaded b, float sum) { return dot2(a, b, sum); }
  static float scaling(float difference) { return raised_exp2<0>(difference * kScoreLog2E); }
  static Weight weight(float difference) {
    return static_cast<ushort>(
        (as_type<uint>(raised_exp2<56>(difference * kScoreLog2E)) + 0x8000u) >> 16);
  }
  static float value(Weight weight) { return as_type<float>(static_cast<uint>(weight) << 16); }
  static float result(float sum, float total) { return sum * (0x1p112f / total); }

  static constexpr constant float kScoreLog2E = 0x1p56f * 1.44269504f;
};
