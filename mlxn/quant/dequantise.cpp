#include "mlxn/quant/dequantise.h"

#include <algorithm>
#include <cstring>

#include "mlxn/base/strings.h"
#include "mlxn/quant/formats.h"
#include "mlxn/quant/reference.h"

namespace mlxn::quant {
namespace {

// Copies each block out first, so that bytes need no alignment.
template <class Block>
void dequantise_blocks(std::span<const std::byte> bytes, std::span<float> values) {
  const size_t blocks = bytes.size() / sizeof(Block);
  for (size_t b = 0; b < blocks; ++b) {
    Block block;
    std::memcpy(&block, bytes.data() + b * sizeof(Block), sizeof(Block));
    for (int piece = 0; piece < Block::kPieces; ++piece) {
      float values16[16];
      dequantise_piece(block, piece, values16);
      std::copy_n(values16, 16, values.begin() + b * Block::kElements + 16 * piece);
    }
  }
}

template <float (*kValue)(uint16_t)>
void widen(std::span<const std::byte> bytes, std::span<float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
    values[i] = kValue(bits);
  }
}

void copy_floats(std::span<const std::byte> bytes, std::span<float> values) {
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

}  // namespace

Status check_sizes(Dtype dtype, uint64_t elements, uint64_t bytes) {
  MLXN_ASSIGN(const uint64_t expected, size_bytes(dtype, elements));
  if (bytes == expected) return {};
  return Error(ErrorCode::kShapeMismatch, str(bytes, " bytes for ", elements, " values of ",
                                              to_string(dtype), ", expected ", expected));
}

bool is_supported(Dtype dtype) {
  return is_weight_format(dtype);
}

Status dequantise(Dtype dtype, std::span<const std::byte> bytes, std::span<float> values) {
  MLXN_TRY(check_sizes(dtype, values.size(), bytes.size()));
  switch (dtype) {
    case Dtype::kF32: copy_floats(bytes, values); return {};
    case Dtype::kF16: widen<half_value>(bytes, values); return {};
    case Dtype::kBf16: widen<bfloat_value>(bytes, values); return {};
    default: break;
  }
  const bool known =
      with_block(dtype, [&](auto block) { dequantise_blocks<decltype(block)>(bytes, values); });
  if (known) return {};
  return Error(ErrorCode::kUnsupported, str("no values can be read from dtype ", to_string(dtype)));
}

}  // namespace mlxn::quant
