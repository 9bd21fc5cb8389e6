// Any bytes as a GGUF file. What parses must keep the reader's promises, survive a write and a
// read, and its tensors must be readable to their last byte.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "mlxn/io/gguf.h"
#include "mlxn/io/gguf_writer.h"
#include "mlxn/quant/reference.h"

namespace {

using mlxn::io::GgufFile;
using mlxn::io::GgufLimits;
using mlxn::io::GgufWriter;
using mlxn::io::TensorInfo;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

volatile uint32_t sink;

void touch(std::span<const std::byte> bytes) {
  uint32_t sum = 0;
  for (std::byte b : bytes) sum += std::to_integer<uint32_t>(b);
  sink = sum;
}

void look_up(const mlxn::io::Metadata& metadata) {
  for (const auto& [name, value] : metadata.entries()) {
    require(metadata.find(name) == &value);
    (void)metadata.unsigned_integer(name);
    (void)metadata.number(name, 1.0);
    (void)metadata.flag(name, true);
    (void)metadata.text(name);
    (void)metadata.texts(name);
    (void)metadata.integers(name);
    (void)metadata.numbers(name);
  }
}

void read_values(const TensorInfo& tensor, std::span<const std::byte> bytes) {
  if (!tensor.dtype || !mlxn::quant::is_supported(*tensor.dtype) || tensor.elements > 1 << 16)
    return;
  std::vector<float> values(tensor.elements);
  require(mlxn::quant::dequantise(*tensor.dtype, bytes, values).has_value());
}

void write_again(const GgufFile& file, const GgufLimits& limits) {
  const auto alignment = *file.metadata().unsigned_integer("general.alignment", 32);
  if (alignment > 4096 || file.tensors().size() > 64) return;
  GgufWriter writer(alignment);
  size_t entries = alignment == 32 ? 0 : 1;
  for (const auto& [name, value] : file.metadata().entries()) {
    if (name == "general.alignment") continue;
    require(writer.add(name, value).has_value());
    ++entries;
  }
  size_t tensors = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    const auto data = file.data(tensor);
    if (!data) continue;
    require(writer.add_tensor(tensor.name, tensor.type, tensor.dims, *data).has_value());
    ++tensors;
  }
  const auto bytes = writer.to_bytes();
  require(bytes.has_value());
  const auto again = GgufFile::parse(*bytes, limits);
  require(again && again->tensors().size() == tensors);
  require(again->metadata().entries().size() == entries);
  for (const TensorInfo& tensor : again->tensors()) {
    const TensorInfo* before = file.find(tensor.name);
    require(before && before->dims == tensor.dims && before->type == tensor.type);
    require(std::ranges::equal(*file.data(*before), *again->data(tensor)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const GgufLimits limits = {.metadata_memory = 64 << 20};
  const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), limits);
  if (!file) return 0;
  look_up(file->metadata());
  for (const TensorInfo& tensor : file->tensors()) {
    require(file->find(tensor.name) == &tensor && tensor.dims.size() <= 4);
    const auto bytes = file->data(tensor);
    if (!bytes) continue;
    require(bytes->size() == tensor.bytes);
    touch(*bytes);
    read_values(tensor, *bytes);
  }
  write_again(*file, limits);
  return 0;
}
