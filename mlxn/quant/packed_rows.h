// Layout of packed weights, shared by host and kernels: 16 rows side by side, so that 16 threads
// that make one column of a product each read neighbours.
//
// A matrix is a sequence of groups of 16 rows; the last one is filled up with zeros. A group is a
// sequence of units: the same 32, 64 or 256 elements of its 16 rows. In a unit, row r stands at
// place r of every line of 16. Floats (f32, f16, bf16) are as they were, a line for each of 32
// elements. A unit of blocks has
//   scales   f16 [n][16]          one for each 32 elements, or one for all 256
//            u8 [n][16]           of formats whose scales are powers of two: the exponents
//   offsets  f16 [n][16]          of formats that have them
//   fine scales  u8 [m][16]       formats of 256: one for each 32 elements, signed ones for each 16
//   fine offsets u8 [m][16]       of formats that have them
//   codes    u32 [blocks of 32][bits][16]
// Each part begins at a multiple of 64 bytes. Codes have no sign: those of formats without offsets
// are raised by half their range. Word i < 4 of a block has the low four bits of elements 4i to
// 4i + 3 in the low halves of its bytes, and of 16 elements on in the high halves. Word 4 + k holds
// bit 4 + k of all: of element 4i + b in bit i of byte b. Codes of 8 bits are eight words of four
// elements each.
#pragma once

#include "mlxn/quant/blocks.h"

namespace mlxn {
namespace quant {

MLXN_CONSTANT uint32_t kPackedRows = 16;

// Elements in a unit of floats.
MLXN_CONSTANT uint32_t kFloatUnit = 32;

// Bits of a code, blocks of 32 in a unit, whether there are offsets, fine scales of each block,
// whether scales are exponents.
template <uint32_t Bits, uint32_t Blocks, bool Offsets, uint32_t Fine, bool Powers = false>
struct PackedUnit {
  enum : uint32_t {
    kBits = Bits,
    kBlocks = Blocks,
    kElements = 32 * Blocks,
    kHasOffsets = Offsets,
    kFine = Fine,
    kPowers = Powers,
    kScales = Fine == 0 ? Blocks : 1,  // for each row
    // Where a unit's parts begin, in bytes.
    kOffsetsAt = (Powers ? 1 : 2) * kPackedRows * kScales,
    kFineAt = (kOffsetsAt * (Offsets ? 2 : 1) + 63) / 64 * 64,
    kFineOffsetsAt = kFineAt + kPackedRows * Fine * Blocks,
    kCodesAt = kFineOffsetsAt + (Offsets ? kPackedRows * Fine * Blocks : 0),
    kBlockBytes = 4 * kPackedRows * Bits,
    kBytes = kCodesAt + Blocks * kBlockBytes,
    // Codes without offsets are read at the top of their byte, where zero is 128 in all formats.
    kShift = Offsets ? 0 : 8 - Bits,
    kRaised = Offsets ? 0 : 1 << (Bits - 1),
  };
};

// How each format is packed. Those that number the values of a table become 8 bits of those values.
template <class Block>
struct PackingOf;
template <>
struct PackingOf<BlockQ4_0> : PackedUnit<4, 2, false, 0> {};
template <>
struct PackingOf<BlockQ4_1> : PackedUnit<4, 2, true, 0> {};
template <>
struct PackingOf<BlockQ5_0> : PackedUnit<5, 2, false, 0> {};
template <>
struct PackingOf<BlockQ5_1> : PackedUnit<5, 2, true, 0> {};
template <>
struct PackingOf<BlockQ8_0> : PackedUnit<8, 2, false, 0> {};
template <>
struct PackingOf<BlockIq4_Nl> : PackedUnit<8, 2, false, 0> {};
template <>
struct PackingOf<BlockMxfp4> : PackedUnit<8, 2, false, 0, true> {};
template <>
struct PackingOf<BlockQ4_K> : PackedUnit<4, 8, true, 1> {};
template <>
struct PackingOf<BlockQ5_K> : PackedUnit<5, 8, true, 1> {};
template <>
struct PackingOf<BlockQ6_K> : PackedUnit<6, 8, false, 2> {};

// entry(name, block, dtype) for each block format that can be packed.
// clang-format off
#define MLXN_EACH_PACKED_FORMAT(entry)              \
  entry(q4_0, mlxn::quant::BlockQ4_0, Q4_0)         \
  entry(q4_1, mlxn::quant::BlockQ4_1, Q4_1)         \
  entry(q5_0, mlxn::quant::BlockQ5_0, Q5_0)         \
  entry(q5_1, mlxn::quant::BlockQ5_1, Q5_1)         \
  entry(q8_0, mlxn::quant::BlockQ8_0, Q8_0)         \
  entry(iq4_nl, mlxn::quant::BlockIq4_Nl, Iq4_Nl)   \
  entry(mxfp4, mlxn::quant::BlockMxfp4, Mxfp4)      \
  entry(q4_k, mlxn::quant::BlockQ4_K, Q4_K)         \
  entry(q5_k, mlxn::quant::BlockQ5_K, Q5_K)         \
  entry(q6_k, mlxn::quant::BlockQ6_K, Q6_K)
// clang-format on

inline uint32_t moved(uint32_t word, int bits) {
  return bits >= 0 ? word << bits : word >> -bits;
}

// Codes of elements 4i to 4i + 3 of one row of a block, a byte each, times 2^kShift. `words` is
// word 0 of that row.
template <class Unit>
inline uint32_t packed_codes(const MLXN_DEVICE uint32_t* words, int i) {
  if (Unit::kBits == 8) return words[i * kPackedRows];
  const int low = Unit::kShift;
  uint32_t codes =
      moved(words[(i & 3) * kPackedRows], i < 4 ? low : low - 4) & (0x0f0f0f0fu << low);
  for (int k = 4; k < static_cast<int>(Unit::kBits); ++k) {
    codes |= moved(words[k * kPackedRows], low + k - i) & (0x01010101u << (low + k));
  }
  return codes;
}

}  // namespace quant
}  // namespace mlxn
