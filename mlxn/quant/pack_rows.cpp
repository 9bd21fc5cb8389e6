#include "mlxn/quant/pack_rows.h"

#include <algorithm>
#include <cstring>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/quant/dequantise.h"
#include "mlxn/quant/packed_rows.h"
#include "mlxn/quant/reference.h"

namespace mlxn::quant {
namespace {

// A float of so many bytes.
template <uint32_t Bytes>
struct Float {
  std::byte bytes[Bytes];
};

}  // namespace

template <uint32_t Bytes>
struct PackingOf<Float<Bytes>> {
  enum : uint32_t { kElements = kFloatUnit, kBytes = kFloatUnit * kPackedRows * Bytes };
};

namespace {

// Calls function(Block{}), or function(Float<n>{}), for what is packed; false for other dtypes.
template <class Function>
bool with_packing(Dtype dtype, Function&& function) {
  switch (dtype) {
#define MLXN_CASE(name, block, dtype) \
  case Dtype::k##dtype: function(block{}); return true;
    MLXN_EACH_PACKED_FORMAT(MLXN_CASE)
#undef MLXN_CASE
#define MLXN_CASE(name, type, dtype, elements, bytes) \
  case Dtype::k##dtype: function(Float<bytes>{}); return true;
    MLXN_EACH_FLOAT_FORMAT(MLXN_CASE)
#undef MLXN_CASE
    default: return false;
  }
}

// Numbers of a unit: a row's place in a line, in bytes from the unit's begin.
constexpr uint32_t half_at(uint32_t part, uint32_t line, uint32_t row) {
  return part + 2 * (line * kPackedRows + row);
}
constexpr uint32_t byte_at(uint32_t part, uint32_t line, uint32_t row) {
  return part + line * kPackedRows + row;
}

template <class Block>
void put_scales(const Block& block, uint32_t number, uint32_t row, std::byte* unit) {
  using Unit = PackingOf<Block>;
  if constexpr (Unit::kPowers)
    unit[byte_at(0, number, row)] = std::byte(block.exponent);
  else
    std::memcpy(unit + half_at(0, number, row), &block.scale, 2);
  if constexpr (Unit::kHasOffsets)
    std::memcpy(unit + half_at(Unit::kOffsetsAt, number, row), &block.offset, 2);
  if constexpr (Unit::kFine == 2) {
    for (uint32_t i = 0; i < 16; ++i)
      unit[byte_at(Unit::kFineAt, i, row)] = std::byte(static_cast<uint8_t>(block.scales[i]));
  } else if constexpr (Unit::kFine == 1) {
    for (uint32_t i = 0; i < Unit::kBlocks; ++i) {
      // In units of one they are the whole numbers themselves.
      const Affine fine = group_affine(block.scales, 1, 1, static_cast<int>(i));
      unit[byte_at(Unit::kFineAt, i, row)] = std::byte(static_cast<uint8_t>(fine.scale));
      unit[byte_at(Unit::kFineOffsetsAt, i, row)] = std::byte(static_cast<uint8_t>(-fine.offset));
    }
  }
}

// The 32 codes from piece `first` of a block on.
template <class Block>
void put_codes(const Block& block, int first, uint32_t row, std::byte* words) {
  using Unit = PackingOf<Block>;
  uint8_t codes[32];
  for (int j = 0; j < 32; ++j)
    codes[j] = static_cast<uint8_t>(code(block, first + j / 16, j % 16) + int{Unit::kRaised});
  uint32_t fours[8], packed[Unit::kBits];
  std::memcpy(fours, codes, sizeof(fours));
  if constexpr (Unit::kBits == 8) {
    std::copy_n(fours, 8, packed);
  } else {
    for (int i = 0; i < 4; ++i)
      packed[i] = (fours[i] & 0x0f0f0f0fu) | (fours[i + 4] & 0x0f0f0f0fu) << 4;
    for (int k = 4; k < int{Unit::kBits}; ++k) {
      packed[k] = 0;
      for (int i = 0; i < 8; ++i) packed[k] |= ((fours[i] >> k) & 0x01010101u) << i;
    }
  }
  for (uint32_t i = 0; i < Unit::kBits; ++i)
    std::memcpy(words + 4 * (i * kPackedRows + row), &packed[i], 4);
}

// One row of a group.
template <class Block>
void pack_row(Block, std::span<const std::byte> stored, uint32_t row, std::byte* group) {
  using Unit = PackingOf<Block>;
  constexpr uint32_t kEach = Block::kElements / 32;  // blocks of 32
  const size_t blocks = stored.size() / sizeof(Block);
  for (size_t b = 0; b < blocks; ++b) {
    Block block;
    std::memcpy(&block, stored.data() + b * sizeof(Block), sizeof(Block));
    const size_t at = b * kEach;
    const auto in_unit = static_cast<uint32_t>(at % Unit::kBlocks);
    std::byte* unit = group + at / Unit::kBlocks * Unit::kBytes;
    put_scales(block, in_unit, row, unit);
    for (uint32_t i = 0; i < kEach; ++i) {
      std::byte* words = unit + Unit::kCodesAt + (in_unit + i) * Unit::kBlockBytes;
      put_codes(block, static_cast<int>(2 * i), row, words);
    }
  }
}

template <uint32_t Bytes>
void pack_row(Float<Bytes>, std::span<const std::byte> stored, uint32_t row, std::byte* group) {
  std::byte* to = group + row * Bytes;
  for (size_t at = 0; at < stored.size(); at += Bytes, to += kPackedRows * Bytes)
    std::memcpy(to, stored.data() + at, Bytes);
}

float half_in(const std::byte* unit, uint32_t at) {
  uint16_t bits;
  std::memcpy(&bits, unit + at, 2);
  return half_value(bits);
}

// What 16 elements of one row have in common; `piece` counts in the unit.
template <class Unit>
Affine packed_affine(const std::byte* unit, uint32_t piece, uint32_t row) {
  const uint32_t line = Unit::kFine == 0 ? piece / 2 : 0;
  if constexpr (Unit::kPowers)
    return {halved_power(static_cast<uint8_t>(unit[byte_at(0, line, row)])), -0.0f};
  float scale = half_in(unit, half_at(0, line, row)), offset = -0.0f;
  if constexpr (Unit::kHasOffsets) offset = half_in(unit, half_at(Unit::kOffsetsAt, line, row));
  if constexpr (Unit::kFine == 2) {
    scale *= static_cast<int8_t>(unit[byte_at(Unit::kFineAt, piece, row)]);
  } else if constexpr (Unit::kFine == 1) {
    scale *= static_cast<uint8_t>(unit[byte_at(Unit::kFineAt, piece / 2, row)]);
    offset = -(offset * static_cast<uint8_t>(unit[byte_at(Unit::kFineOffsetsAt, piece / 2, row)]));
  }
  return {scale, offset};
}

template <class Block>
void unpack_row(Block, Dtype, const std::byte* group, uint32_t row, std::span<float> values) {
  using Unit = PackingOf<Block>;
  for (size_t i = 0; i < values.size(); i += 4) {
    const std::byte* unit = group + i / Unit::kElements * Unit::kBytes;
    const auto in_unit = static_cast<uint32_t>(i % Unit::kElements);
    const std::byte* at = unit + Unit::kCodesAt + in_unit / 32 * Unit::kBlockBytes;
    uint32_t words[kPackedRows * (Unit::kBits - 1) + 1];
    std::memcpy(words, at + 4 * row, sizeof(words));
    const uint32_t codes = packed_codes<Unit>(words, static_cast<int>(in_unit % 32 / 4));
    const Affine affine = packed_affine<Unit>(unit, in_unit / 16, row);
    for (uint32_t b = 0; b < 4; ++b) {
      const int code = int((codes >> 8 * b & 0xff) >> Unit::kShift) - int{Unit::kRaised};
      values[i + b] = affine.scale * static_cast<float>(code) + affine.offset;
    }
  }
}

template <uint32_t Bytes>
void unpack_row(Float<Bytes>, Dtype dtype, const std::byte* group, uint32_t row,
                std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const std::span<const std::byte> stored(group + (i * kPackedRows + row) * Bytes, Bytes);
    (void)dequantise(dtype, stored, values.subspan(i, 1));  // a float of its own size
  }
}

Status check_bytes(const char* what, uint64_t actual, uint64_t expected) {
  if (actual == expected) return {};
  return Error(ErrorCode::kShapeMismatch,
               str(what, " has ", actual, " bytes, expected ", expected));
}

}  // namespace

bool can_pack(Dtype dtype) {
  return with_packing(dtype, [](auto) {});
}

Result<PackedLayout> packed_layout(Dtype dtype, uint64_t rows, uint64_t depth) {
  uint64_t unit_elements = 0, unit_bytes = 0;
  with_packing(dtype, [&](auto block) {
    unit_elements = PackingOf<decltype(block)>::kElements;
    unit_bytes = PackingOf<decltype(block)>::kBytes;
  });
  if (unit_elements == 0) {
    return Error(ErrorCode::kUnsupported, str("weights of ", to_string(dtype),
                                              " cannot be packed, expected floats or a block "
                                              "format with whole codes"));
  }
  if (rows == 0 || depth == 0) {
    return Error(ErrorCode::kShapeMismatch,
                 str("a matrix of ", rows, " rows of ", depth, " elements, expected some of both"));
  }
  PackedLayout layout = {dtype, rows, depth, 0, 0, 0};
  MLXN_ASSIGN(layout.row_bytes, size_bytes(dtype, depth));
  const uint64_t units = depth / unit_elements + (depth % unit_elements != 0);
  MLXN_ASSIGN(layout.group_bytes, checked_mul(units, unit_bytes));
  layout.groups = rows / kPackedRows + (rows % kPackedRows != 0);
  MLXN_TRY(checked_mul(layout.groups, layout.group_bytes));
  MLXN_TRY(checked_mul(rows, layout.row_bytes));
  return layout;
}

Status pack_group(const PackedLayout& layout, std::span<const std::byte> stored, uint64_t group,
                  std::span<std::byte> packed) {
  MLXN_TRY(check_bytes("a stored matrix", stored.size(), layout.stored_bytes()));
  MLXN_TRY(check_bytes("a packed matrix", packed.size(), layout.packed_bytes()));
  if (group >= layout.groups) {
    return Error(ErrorCode::kOutOfRange,
                 str("group ", group, " of 16 rows, expected less than ", layout.groups));
  }
  const auto to = packed.subspan(group * layout.group_bytes, layout.group_bytes);
  std::ranges::fill(to, std::byte{0});
  const uint64_t first = group * kPackedRows;
  const auto rows = static_cast<uint32_t>(std::min<uint64_t>(kPackedRows, layout.rows - first));
  with_packing(layout.dtype, [&](auto block) {
    for (uint32_t r = 0; r < rows; ++r) {
      const auto row = stored.subspan((first + r) * layout.row_bytes, layout.row_bytes);
      pack_row(block, row, r, to.data());
    }
  });
  return {};
}

Status unpack_rows(const PackedLayout& layout, std::span<const std::byte> packed,
                   std::span<float> values) {
  MLXN_TRY(check_bytes("a packed matrix", packed.size(), layout.packed_bytes()));
  MLXN_TRY(check_bytes("values", values.size_bytes(), layout.rows * layout.depth * sizeof(float)));
  with_packing(layout.dtype, [&](auto block) {
    for (uint64_t r = 0; r < layout.rows; ++r) {
      const std::byte* group = packed.data() + r / kPackedRows * layout.group_bytes;
      unpack_row(block, layout.dtype, group, static_cast<uint32_t>(r % kPackedRows),
                 values.subspan(r * layout.depth, layout.depth));
    }
  });
  return {};
}

}  // namespace mlxn::quant
