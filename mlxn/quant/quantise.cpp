#include "mlxn/quant/quantise.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "mlxn/base/strings.h"
#include "mlxn/quant/fit.h"
#include "mlxn/quant/formats.h"
#include "mlxn/quant/half.h"
#include "mlxn/quant/reference.h"

namespace mlxn::quant {
namespace {

template <uint16_t (*kBits)(float)>
void narrow(std::span<const float> values, std::span<std::byte> bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = kBits(values[i]);
    std::memcpy(bytes.data() + 2 * i, &bits, sizeof bits);
  }
}

Status check_finite(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      return Error(ErrorCode::kInvalidArgument,
                   str("element ", i, " is ", values[i], ", expected a finite number"));
  }
  return {};
}

template <class Block>
Status quantise_blocks(std::span<const float> values, std::span<std::byte> bytes) {
  for (size_t b = 0; b * Block::kElements < values.size(); ++b) {
    Block block = {};
    auto done = quantise_block(values.subspan(b * Block::kElements, Block::kElements), block);
    if (!done) return std::move(done.error().add_context(str("block ", b)));
    std::memcpy(bytes.data() + b * sizeof(Block), &block, sizeof(Block));
  }
  return {};
}

}  // namespace

uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  uint32_t out;
  if (magnitude > 0x7F800000) {
    out = 0x7E00 | ((magnitude >> 13) & 0x3FF);
  } else if (magnitude >= 0x477FF000) {  // 65520 and more round to infinity
    out = 0x7C00;
  } else if (magnitude < 0x38800000) {
    // Below 2^-14 a half counts in steps of 2^-24, and so does a float between 0.5 and 1.
    out = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000;
  } else {
    out = ((magnitude + 0xFFF + ((magnitude >> 13) & 1)) >> 13) - (112u << 10);
  }
  return static_cast<uint16_t>(sign | out);
}

uint16_t bfloat_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((uint64_t{bits} + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

Result<uint16_t> scale_bits(float value) {
  const uint16_t bits = half_bits(value);
  if ((bits & 0x7C00) != 0x7C00) return bits;
  return Error(ErrorCode::kInvalidArgument,
               str("a scale of ", value, ", expected at most 65504: it is stored as a half"));
}

Status quantise(Dtype dtype, std::span<const float> values, std::span<std::byte> bytes) {
  MLXN_TRY(check_sizes(dtype, values.size(), bytes.size()));
  switch (dtype) {
    case Dtype::kF32:
      if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
      return {};
    case Dtype::kF16: narrow<half_bits>(values, bytes); return {};
    case Dtype::kBf16: narrow<bfloat_bits>(values, bytes); return {};
    default: break;
  }
  Status status =
      Error(ErrorCode::kUnsupported, str("no values can be stored as dtype ", to_string(dtype)));
  with_block(dtype, [&](auto block) {
    status = check_finite(values);
    if (status) status = quantise_blocks<decltype(block)>(values, bytes);
  });
  return status;
}

}  // namespace mlxn::quant
