// Weights packed for products on CPUs, in the layout of packed_rows.h. Nothing is rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"

namespace mlxn::quant {

bool can_pack(Dtype dtype);

// Sizes of a matrix [rows, depth] whose rows lie one after the other, and of its packed form.
struct PackedLayout {
  Dtype dtype;
  uint64_t rows, depth;
  uint64_t row_bytes;
  uint64_t groups, group_bytes;  // of 16 rows

  uint64_t stored_bytes() const { return rows * row_bytes; }
  uint64_t packed_bytes() const { return groups * group_bytes; }
};
// kUnsupported for a format that is not packed, kShapeMismatch for rows that split a block or are
// empty, kOutOfRange when a size overflows.
Result<PackedLayout> packed_layout(Dtype dtype, uint64_t rows, uint64_t depth);

// Packs the rows of one group: `stored` and `packed` are the whole matrix, of any address.
// Different groups may be packed at once. kShapeMismatch and kOutOfRange for other sizes.
Status pack_group(const PackedLayout& layout, std::span<const std::byte> stored, uint64_t group,
                  std::span<std::byte> packed);

// The values of a packed matrix, [rows, depth]: the bits that dequantise gives for the stored one.
Status unpack_rows(const PackedLayout& layout, std::span<const std::byte> packed,
                   std::span<float> values);

}  // namespace mlxn::quant
