// Usage: quant_compare FILE COUNT
// Checks COUNT pairs of tensors "<format>.read.blocks" and "<format>.read.values" (the blocks must
// give these values) or "<format>.write.blocks" and "<format>.write.values" (the values must give
// these blocks), bit for bit. Any NaN equals any other.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "mlxn/io/gguf.h"
#include "mlxn/quant/reference.h"

namespace {

using mlxn::Error;
using mlxn::ErrorCode;
using mlxn::Status;

std::vector<float> floats(std::span<const std::byte> bytes) {
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

Status mismatch(size_t at, const std::string& got, const std::string& expected) {
  return Error(ErrorCode::kInternal,
               "at " + std::to_string(at) + ": " + got + ", expected " + expected);
}

std::string hex(float x) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", double{x});
  return text;
}

Status check_reading(mlxn::Dtype dtype, std::span<const std::byte> blocks,
                     std::span<const float> expected) {
  std::vector<float> values(expected.size());
  MLXN_TRY(mlxn::quant::dequantise(dtype, blocks, values));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!same(values[i], expected[i])) return mismatch(i, hex(values[i]), hex(expected[i]));
  }
  return {};
}

Status check_writing(mlxn::Dtype dtype, std::span<const std::byte> expected,
                     std::span<const float> values) {
  std::vector<std::byte> blocks(expected.size());
  MLXN_TRY(mlxn::quant::quantise(dtype, values, blocks));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] != expected[i])
      return mismatch(i, std::to_string(std::to_integer<int>(blocks[i])),
                      std::to_string(std::to_integer<int>(expected[i])));
  }
  return {};
}

Status check(const mlxn::io::GgufFile& file, const mlxn::io::TensorInfo& tensor, bool reading,
             const std::string& values_name) {
  const auto* values = file.find(values_name);
  if (!values || !tensor.dtype) return Error(ErrorCode::kCorruptData, "not a pair of tensors");
  MLXN_ASSIGN(const auto blocks, file.data(tensor));
  MLXN_ASSIGN(const auto bytes, file.data(*values));
  const auto numbers = floats(bytes);
  return reading ? check_reading(*tensor.dtype, blocks, numbers)
                 : check_writing(*tensor.dtype, blocks, numbers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto file = mlxn::io::GgufFile::open(argv[1]);
  if (!file) {
    std::printf("%s\n", file.error().to_string().c_str());
    return 1;
  }
  long pairs = 0, failures = 0;
  for (const auto& tensor : file->tensors()) {
    const std::string suffix = ".blocks";
    if (!tensor.name.ends_with(suffix)) continue;
    const std::string stem = tensor.name.substr(0, tensor.name.size() - suffix.size());
    const auto checked = check(*file, tensor, stem.ends_with(".read"), stem + ".values");
    ++pairs;
    failures += !checked;
    std::printf("%-14s %s\n", stem.c_str(), checked ? "ok" : checked.error().message().c_str());
  }
  std::printf("%ld pairs of tensors, %ld differ\n", pairs, failures);
  return failures == 0 && pairs == std::atol(argv[2]) ? 0 : 1;
}
