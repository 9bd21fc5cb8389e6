#include "mlxn/testing/stored_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mlxn/base/strings.h"
#include "mlxn/quant/reference.h"

namespace mlxn::cases {
namespace {

template <class T>
T read(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void store_as(std::span<const double> values, std::span<std::byte> bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void load_as(std::span<const std::byte> bytes, std::span<double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(read<T>(bytes.data() + i * sizeof(T)));
  }
}

// Rounded once: a double that lies beside a tie of the short type must not become the tie in float.
uint16_t to_bf16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  float nearest = static_cast<float>(value);
  uint32_t bits = read<uint32_t>(reinterpret_cast<const std::byte*>(&nearest));
  if ((bits & 0xffff) == 0x8000 && static_cast<double>(nearest) != value) {
    const bool below = std::abs(value) < std::abs(static_cast<double>(nearest));
    bits += below ? -1 : 1;
  }
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

void store_bf16(std::span<const double> values, std::span<std::byte> bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = to_bf16(values[i]);
    std::memcpy(bytes.data() + i * 2, &bits, 2);
  }
}

void load_bf16(std::span<const std::byte> bytes, std::span<double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = uint32_t{read<uint16_t>(bytes.data() + i * 2)} << 16;
    values[i] = static_cast<double>(read<float>(reinterpret_cast<const std::byte*>(&bits)));
  }
}

Status check_size(Dtype dtype, size_t values, size_t bytes) {
  MLXN_ASSIGN(const uint64_t expected, size_bytes(dtype, values));
  if (bytes == expected) return {};
  return Error(ErrorCode::kOutOfRange, str(bytes, " bytes for ", values, " values of ",
                                           to_string(dtype), ", expected ", expected));
}

Status store_blocks(Dtype dtype, std::span<const double> values, std::span<std::byte> bytes) {
  const std::vector<float> floats(values.begin(), values.end());
  return quant::quantise(dtype, floats, bytes);
}

Status load_blocks(Dtype dtype, std::span<const std::byte> bytes, std::span<double> values) {
  std::vector<float> floats(values.size());
  MLXN_TRY(quant::dequantise(dtype, bytes, floats));
  std::ranges::copy(floats, values.begin());
  return {};
}

}  // namespace

Status store(Dtype dtype, std::span<const double> values, std::span<std::byte> bytes) {
  MLXN_TRY(check_size(dtype, values.size(), bytes.size()));
  switch (dtype) {
    case Dtype::kF32: store_as<float>(values, bytes); return {};
    case Dtype::kF16: store_as<_Float16>(values, bytes); return {};
    case Dtype::kBf16: store_bf16(values, bytes); return {};
    case Dtype::kBool:
    case Dtype::kU8: store_as<uint8_t>(values, bytes); return {};
    case Dtype::kU32: store_as<uint32_t>(values, bytes); return {};
    case Dtype::kI32: store_as<int32_t>(values, bytes); return {};
    default: return store_blocks(dtype, values, bytes);
  }
}

Status load(Dtype dtype, std::span<const std::byte> bytes, std::span<double> values) {
  MLXN_TRY(check_size(dtype, values.size(), bytes.size()));
  switch (dtype) {
    case Dtype::kF32: load_as<float>(bytes, values); return {};
    case Dtype::kF16: load_as<_Float16>(bytes, values); return {};
    case Dtype::kBf16: load_bf16(bytes, values); return {};
    case Dtype::kBool:
    case Dtype::kU8: load_as<uint8_t>(bytes, values); return {};
    case Dtype::kU32: load_as<uint32_t>(bytes, values); return {};
    case Dtype::kI32: load_as<int32_t>(bytes, values); return {};
    default: return load_blocks(dtype, bytes, values);
  }
}

double rounded(Dtype dtype, double value) {
  std::byte bytes[8];
  const auto room = std::span(bytes).first(info(dtype).block_bytes);
  double result = value;
  if (store(dtype, {&value, 1}, room)) static_cast<void>(load(dtype, room, {&result, 1}));
  return result;
}

}  // namespace mlxn::cases
