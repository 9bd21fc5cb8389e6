// MSL: numbers of attention, exact or rounded. Both work on pairs: two elements of a query and a
// key, or two weights and the values of two positions.
#pragma once

#include "mlxn/ops/common/dot.h"
#include "mlxn/ops/kv/kv_layout.h"

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

// What all have: kFinite, whether no number of the cache is infinite or NaN; kInPlace, whether
// weights are as large as scores; kRounds, whether results may be rounded to 8 bits; kScore, what a
// sum of products is to be multiplied by for a score; Weight, and Pair of queries or weights;
// Stored, a pair in the cache; `offset`, where a tile begins that so many elements lie in front of;
// `key`, this thread's pair of elements from 2 * d on; `value`, an element at i of the values at
// position p and the next one.

// Floats all along, with a cache of T.
template <typename T>
struct ExactNumbers {
  static constexpr constant bool kFinite = false, kInPlace = true, kRounds = false;
  static constexpr constant float kScore = 1;
  using Weight = float;
  using Pair = float2;
  using Stored = vec<T, 2>;
  using Loaded = float2;

  static ulong offset(ulong elements) { return elements / 2; }
  static Pair query(float2 elements) { return elements; }
  static Loaded key(device const Stored* tile, uint d, uint, uint lane) {
    return static_cast<float2>((tile + d * kKvTile)[lane]);
  }
  static Loaded value(device const Stored* tile, uint i, uint p, uint dim, bool inside, uint lane) {
    return static_cast<float2>(inside ? (tile + p / 2 * dim + i)[lane] : Stored(0));
  }
  static Pair pair(Weight first, Weight second) { return {first, second}; }
  static float add(Pair a, Loaded b, float sum) { return fma(a.y, b.y, fma(a.x, b.x, sum)); }
  static float scaling(float difference) { return exp(difference); }
  static Weight weight(float difference) { return exp(difference); }
  static float value_of(Weight weight) { return weight; }
  static float result(float sum, float total) { return sum / total; }
};

// Queries, keys, weights and values rounded to bfloats, of which two make a word. Weights are
// larger by 2^56, and so are queries by 2^Query.
template <uint Query>
struct RoundedNumbers {
  static constexpr constant bool kFinite = true, kInPlace = false, kRounds = true;
  static constexpr constant float kScore = Query == 0 ? 1.0f : 0x1p56f;
  static constexpr constant float kScoreLog2E = kScore * 1.44269504f;
  using Weight = ushort;  // a bfloat
  using Pair = bfloat2;
  using Loaded = bfloat2;

  static Pair query(float2 elements) { return static_cast<bfloat2>(elements * kScore); }
  static Pair pair(Weight first, Weight second) { return as_type<bfloat2>(ushort2(first, second)); }
  static float add(Pair a, Loaded b, float sum) { return dot2(a, b, sum); }
  static float scaling(float difference) { return raised_exp2<0>(difference * kScoreLog2E); }
  static Weight weight(float difference) {
    const float weight = raised_exp2<56>(difference * kScoreLog2E);
    return static_cast<ushort>((as_type<uint>(weight) + 0x8000u) >> 16);
  }
  static float value_of(Weight weight) { return as_type<float>(static_cast<uint>(weight) << 16); }
};

// With a cache of half. A half becomes a bfloat by its bits alone: its exponent stays in place,
// which makes it smaller by 2^112, and its last three bits are rounded away. So infinities and NaN
// of the cache are finite numbers, from 2^16 on. Queries are larger by 2^56, to meet halfway.
struct RoundedHalves : RoundedNumbers<56> {
  using Stored = uint;

  static ulong offset(ulong elements) { return elements / 2; }
  static Loaded load(uint pair) {
    const uint magnitudes = (pair & 0x7fff7fffu) + 0x00040004u;
    return as_type<bfloat2>((magnitudes >> 3 & 0x1fff1fffu) | (pair & 0x80008000u));
  }
  static Loaded key(device const Stored* tile, uint d, uint, uint lane) {
    return load((tile + d * kKvTile)[lane]);
  }
  static Loaded value(device const Stored* tile, uint i, uint p, uint dim, bool inside, uint lane) {
    return load(inside ? (tile + p / 2 * dim + i)[lane] : 0);
  }
  static float result(float sum, float total) { return sum * (0x1p112f / total); }
};

// With a cache of 8-bit codes and a scale for 32 elements, see kv_layout.h.
struct RoundedCodes : RoundedNumbers<0> {
  using Stored = ushort;

  static ulong offset(ulong elements) { return kv_codes_offset(elements) / 2; }
  // Finite, whatever is there.
  static float scale(half stored) {
    const float scale = static_cast<float>(stored);
    return scale < 65504.0f ? scale : 65504.0f;
  }
  static Loaded load(ushort pair, float first_scale, float second_scale) {
    const uint codes = pair;
    const float first = static_cast<float>(as_type<int>(codes << 24) >> 24) * first_scale;
    const float second = static_cast<float>(as_type<int>(codes << 16) >> 24) * second_scale;
    const uint low = (as_type<uint>(first) + 0x8000u) >> 16;
    return as_type<bfloat2>(low | ((as_type<uint>(second) + 0x8000u) & 0xffff0000u));
  }
  static Loaded key(device const Stored* tile, uint d, uint dim, uint lane) {
    device const half* scales = kv_scales(tile, dim) + d / (kKvBlock / 2) * kKvTile;
    const float of_block = scale(scales[lane]);
    return load((tile + d * kKvTile)[lane], of_block, of_block);
  }
  static Loaded value(device const Stored* tile, uint i, uint p, uint dim, bool inside, uint lane) {
    device const half* scales = kv_scales(tile, dim) + i / kKvBlock * kKvTile + p;
    const ushort pair = inside ? (tile + p / 2 * dim + i)[lane] : ushort(0);
    return load(pair, scale(scales[0]), scale(scales[1]));
  }
  static float result(float sum, float total) { return sum * (1.0f / total); }
};
