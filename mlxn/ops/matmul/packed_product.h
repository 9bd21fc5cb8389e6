// MSL: columns of a product of packed weights and rounded rows, one by each thread.
//
// A thread reads its own words of the weights, its neighbours the words beside them, and all of
// them the same words of the input. Sums of a block are whole numbers and thus exact; results of
// blocks are added up in order. So the bits of a result depend neither on other rows nor on the
// tile.
#pragma once

#include "mlxn/ops/common/dot.h"
#include "mlxn/ops/common/rounded_rows.h"
#include "mlxn/ops/matmul/packed_matmul_args.h"
#include "mlxn/quant/half.h"
#include "mlxn/quant/packed_rows.h"

// Which column a thread makes: the one at `lane` of group `set` of the weights.
struct PackedPlace {
  uint set, lane;

  PackedPlace(uint group, uint thread_index)
      : set(group * (kPackedColumns / mlxn::quant::kPackedRows) +
            thread_index / mlxn::quant::kPackedRows),
        lane(thread_index % mlxn::quant::kPackedRows) {}
};

// What the thread reads of a unit of weights.
template <typename Unit>
struct UnitReader {
  device const uchar* unit;
  uint lane;

  float half_of(uint part, uint line) const {
    return static_cast<float>(
        reinterpret_cast<device const half*>(unit + part)[line * mlxn::quant::kPackedRows + lane]);
  }
  uchar byte_of(uint part, uint line) const {
    return unit[part + line * mlxn::quant::kPackedRows + lane];
  }
  // Of a block of 32, or of half `h` of it where these have scales of their own.
  float scale(uint block, uint h) const {
    if (Unit::kPowers) return mlxn::quant::halved_power(byte_of(0, block));
    if (Unit::kFine == 0) return half_of(0, block);
    const uchar fine = byte_of(Unit::kFineAt, Unit::kFine * block + h);
    const int whole = Unit::kFine == 2 ? static_cast<int>(as_type<char>(fine)) : int(fine);
    return half_of(0, 0) * static_cast<float>(whole);
  }
  float offset(uint block) const {
    if (Unit::kFine == 0) return half_of(Unit::kOffsetsAt, block);
    return -(half_of(Unit::kOffsetsAt, 0) *
             static_cast<float>(byte_of(Unit::kFineOffsetsAt, block)));
  }
  void codes(uint block, thread uint (&words)[8]) const {
    device const uint* first =
        reinterpret_cast<device const uint*>(unit + Unit::kCodesAt + block * Unit::kBlockBytes) +
        lane;
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i] = mlxn::quant::packed_codes<Unit>(first, i);
  }
};

inline float as_float(int bits) {
  return as_type<float>(bits);
}

// Adds scale * x_scale * whole. A power of two comes last: it may be so small or so large that its
// product with the other scale alone would not be exact.
template <typename Unit>
inline float add_scaled(float scale, float x_scale, int whole, float sum) {
  if (Unit::kPowers) return fma(scale, x_scale * static_cast<float>(whole), sum);
  return fma(scale * x_scale, static_cast<float>(whole), sum);
}

// Adds a block's products with M rows to their sums; `x` is the block of the input.
template <typename Unit, uint M>
inline void add_block(thread Accumulator (&sums)[M], thread const UnitReader<Unit>& weights,
                      uint block, device const int* x) {
  uint words[8];
  weights.codes(block, words);
  const float lower_scale = weights.scale(block, 0);
  const float upper_scale = Unit::kFine == 2 ? weights.scale(block, 1) : lower_scale;
  const float offset = Unit::kHasOffsets ? weights.offset(block) : 0;
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    device const int* row = x + m * kRoundedWords;
    const float x_scale = as_float(row[kScaleWord]);
    // Two sums, since one has to wait for itself; they stay apart where they have a scale each.
    constexpr bool kApart = Unit::kFine == 2;
    int lower = Unit::kHasOffsets ? 0 : row[kApart ? kLowerStartWord : kStartWord];
    int upper = kApart ? row[kStartWord] - row[kLowerStartWord] : 0;
#pragma unroll
    for (uint i = 0; i < 4; ++i) {
      lower = dot4(words[i], row[i], lower);
      upper = dot4(words[i + 4], row[i + 4], upper);
    }
    if (!kApart) lower += upper;
    sums[m] = add_scaled<Unit>(lower_scale, x_scale, lower, sums[m]);
    if (kApart) sums[m] = add_scaled<Unit>(upper_scale, x_scale, upper, sums[m]);
    if (Unit::kHasOffsets) sums[m] = fma(offset, as_float(row[kSumWord]), sums[m]);
  }
}

// The products of a thread's column with the M rows of a tile.
template <typename W, uint M>
inline void packed_product(thread Accumulator (&sums)[M], device const uchar* weights,
                           device const int* input, constant PackedMatmulArgs& args, uint tile,
                           PackedPlace place) {
  using Unit = mlxn::quant::PackingOf<W>;
  const uint sets = (args.columns + mlxn::quant::kPackedRows - 1) / mlxn::quant::kPackedRows;
  const uint units = (args.blocks + Unit::kBlocks - 1) / Unit::kBlocks;
  // Past the last set it is taken again.
  const ulong first_unit = static_cast<ulong>(min(place.set, sets - 1)) * units;
  UnitReader<Unit> reader = {weights + first_unit * Unit::kBytes, place.lane};
  device const int* x = input + static_cast<ulong>(tile) * args.blocks * (kRoundedWords * M);
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] = 0;
  uint rest = args.blocks;
  for (; rest >= Unit::kBlocks; rest -= Unit::kBlocks) {
#pragma unroll
    for (uint b = 0; b < Unit::kBlocks; ++b) {
      add_block(sums, reader, b, x);
      x += kRoundedWords * M;
    }
    reader.unit += Unit::kBytes;
  }
  if (rest != 0) add_block(sums, reader, 0, x);  // half a unit
  constexpr float kPower = 1.0f / (1 << Unit::kShift);
#pragma unroll
  for (uint m = 0; m < M; ++m) sums[m] *= kPower;
}

template <uint M, typename Args>
inline void store_products(thread const Accumulator (&sums)[M], device float* output,
                           constant Args& args, uint tile, PackedPlace place) {
  const uint column = place.set * mlxn::quant::kPackedRows + place.lane;
  if (column >= args.columns) return;
  output += static_cast<ulong>(tile) * M * args.columns + column;
#pragma unroll
  for (uint m = 0; m < M; ++m) {
    if (tile * M + m < args.rows) output[static_cast<ulong>(m) * args.columns] = sums[m];
  }
}
