// Any bytes as a safetensors file. What parses must keep the reader's promises, be readable to the
// last byte, and its layers must be found or refused as MLX's quantised ones. A text that starts
// with "{" is read as a config, and as a header whose data follow behind a NUL: so the length of
// the header is right whatever the fuzzer changes.
#include <cstdint>
#include <string_view>
#include <vector>

#include "mlxn/io/internal/byte_writer.h"
#include "mlxn/io/mlx_quantised.h"
#include "mlxn/io/safetensors.h"

namespace {

using mlxn::io::MlxQuantisation;
using mlxn::io::SafetensorsFile;
using mlxn::io::TensorInfo;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

volatile uint32_t sink;

void read_layers(const SafetensorsFile& file, const MlxQuantisation& quantisation) {
  for (const TensorInfo& tensor : file.tensors()) {
    const std::string_view name = tensor.name;
    if (!name.ends_with(".weight")) continue;
    const auto matrix = find_mlx_matrix(file, name.substr(0, name.size() - 7), quantisation);
    if (!matrix || !*matrix || (*matrix)->rows * (*matrix)->columns > 1 << 20) continue;
    std::vector<float> values((*matrix)->rows * (*matrix)->columns);
    require(dequantise(file, **matrix, values).has_value());
  }
}

void read_file(std::span<const std::byte> input) {
  const auto file = SafetensorsFile::parse(input);
  if (!file) return;
  uint64_t end = 0;
  for (const TensorInfo& tensor : file->tensors()) {
    require(file->find(tensor.name) == &tensor && tensor.offset >= end);
    const auto bytes = file->data(tensor);
    if (!bytes) continue;
    end = tensor.offset + bytes->size();
    require(end <= input.size());
    uint32_t sum = 0;
    for (std::byte b : *bytes) sum += std::to_integer<uint32_t>(b);
    sink = sum;
  }
  read_layers(*file, {});
  read_layers(*file, {.common = {.group_size = 32, .bits = 8}, .layers = {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with('{')) {
    read_file(std::as_bytes(std::span(data, size)));
    return 0;
  }
  (void)mlxn::io::read_mlx_quantisation(text);
  const std::string_view header = text.substr(0, text.find('\0'));
  mlxn::io::ByteWriter file;
  file.counted_text(header);
  if (header.size() < size) file.append(std::as_bytes(std::span(text.substr(header.size() + 1))));
  read_file(file.take());
  return 0;
}
