#include "mlxn/io/mlx_quantised.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/internal/json_document.h"
#include "mlxn/quant/reference.h"

namespace mlxn::io {
namespace {

using nlohmann::json;

constexpr int kConfigDepth = 16;
constexpr uint32_t kBits[] = {2, 3, 4, 5, 6, 8};

Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

Result<uint32_t> small_number(const json& object, std::string_view name, uint32_t fallback) {
  const json* value = member(object, name);
  if (!value) return fallback;
  const auto* number = value->get_ptr<const json::number_unsigned_t*>();
  if (!number || *number > 1 << 16)
    return corrupt(str("quantization ", name, " is not a small whole number"));
  return static_cast<uint32_t>(*number);
}

Result<MlxFormat> read_format(const json& object, MlxFormat fallback) {
  if (const json* mode = member(object, "mode"); mode && *mode != "affine")
    return Error(ErrorCode::kUnsupported, "quantization has a mode other than affine");
  MlxFormat out;
  MLXN_ASSIGN(out.group_size, small_number(object, "group_size", fallback.group_size));
  MLXN_ASSIGN(out.bits, small_number(object, "bits", fallback.bits));
  if (std::ranges::find(kBits, out.bits) == std::end(kBits))
    return corrupt(str("quantization bits is ", out.bits, ", expected 2 to 6 or 8"));
  if (out.group_size == 0 || out.group_size % 8 != 0)
    return corrupt(
        str("quantization group_size is ", out.group_size, ", expected a multiple of 8"));
  return out;
}

// The shape of a matrix: dims[1] rows of dims[0].
Status check_matrix(const TensorInfo& tensor, uint64_t columns, uint64_t rows) {
  if (tensor.dims == std::vector<uint64_t>{columns, rows}) return {};
  return corrupt(str("tensor '", tensor.name, "' does not have ", rows, " rows of ", columns));
}

bool holds_numbers(const TensorInfo& tensor) {
  return tensor.dtype && info(*tensor.dtype).is_float;
}

// `count` codes of `bits` bits, the first in the lowest bits of the first byte.
class CodeReader {
 public:
  CodeReader(std::span<const std::byte> bytes, uint32_t bits) : bytes_(bytes), bits_(bits) {}
  uint32_t next() {
    while (held_ < bits_) {
      window_ |= std::to_integer<uint32_t>(bytes_[at_++]) << held_;
      held_ += 8;
    }
    const uint32_t code = window_ & ((1u << bits_) - 1);
    window_ >>= bits_;
    held_ -= bits_;
    return code;
  }

 private:
  std::span<const std::byte> bytes_;
  uint32_t bits_;
  uint32_t window_ = 0;
  uint32_t held_ = 0;
  size_t at_ = 0;
};

Result<std::vector<float>> all_values(const SafetensorsFile& file, const TensorInfo& tensor) {
  MLXN_ASSIGN(const auto bytes, file.data(tensor));
  std::vector<float> out(tensor.elements);
  MLXN_TRY(quant::dequantise(*tensor.dtype, bytes, out));
  return out;
}

}  // namespace

std::optional<MlxFormat> MlxQuantisation::format_of(std::string_view layer) const {
  const auto found = layers.find(layer);
  return found == layers.end() ? common : found->second;
}

Result<std::optional<MlxQuantisation>> read_mlx_quantisation(std::string_view config) {
  MLXN_ASSIGN(const json root, parse_json(config, kConfigDepth));
  const json* fields = member(root, "quantization");
  if (!fields) return std::optional<MlxQuantisation>();
  if (!fields->is_object()) return corrupt("quantization is not an object");
  MlxQuantisation out;
  MLXN_ASSIGN(out.common, read_format(*fields, out.common));
  for (const auto& [layer, value] : fields->items()) {
    if (value == false) {
      out.layers.emplace(layer, std::nullopt);
    } else if (value.is_object()) {
      MLXN_ASSIGN(const MlxFormat format, read_format(value, out.common));
      out.layers.emplace(layer, format);
    }
  }
  return std::optional(std::move(out));
}

Result<std::optional<MlxMatrix>> find_mlx_matrix(const SafetensorsFile& file,
                                                 std::string_view layer,
                                                 const MlxQuantisation& quantisation) {
  MlxMatrix out;
  out.weight = file.find(str(layer, ".weight"));
  out.scales = file.find(str(layer, ".scales"));
  out.biases = file.find(str(layer, ".biases"));
  const auto format = quantisation.format_of(layer);
  if (!out.weight || !out.scales || !format) return std::optional<MlxMatrix>();
  if (!out.biases) return corrupt(str("layer '", layer, "' has scales and no biases"));
  out.format = *format;
  if (out.weight->dtype != Dtype::kU32 || !holds_numbers(*out.scales) ||
      !holds_numbers(*out.biases))
    return corrupt(str("layer '", layer, "' has weights of ", out.weight->type_name,
                       " with scales of ", out.scales->type_name, ", expected U32 and a float"));
  if (out.scales->dims.size() != 2)
    return corrupt(str("tensor '", out.scales->name, "' is not a matrix"));
  MLXN_ASSIGN(out.columns, checked_mul<uint64_t>(out.scales->dims[0], format->group_size));
  out.rows = out.scales->dims[1];
  MLXN_ASSIGN(const uint64_t row_bits, checked_mul<uint64_t>(out.columns, format->bits));
  MLXN_TRY(check_matrix(*out.biases, out.scales->dims[0], out.rows));
  if (row_bits % 32 != 0)
    return corrupt(
        str("layer '", layer, "' has rows of ", row_bits, " bits, expected whole words"));
  MLXN_TRY(check_matrix(*out.weight, row_bits / 32, out.rows));
  return std::optional(out);
}

Status dequantise(const SafetensorsFile& file, const MlxMatrix& matrix, std::span<float> values) {
  MLXN_ASSIGN(const uint64_t expected, checked_mul(matrix.rows, matrix.columns));
  if (values.size() != expected)
    return Error(ErrorCode::kShapeMismatch, str("room for ", values.size(), " values, expected ",
                                                matrix.rows, " x ", matrix.columns));
  MLXN_ASSIGN(const auto codes, file.data(*matrix.weight));
  MLXN_ASSIGN(const auto scales, all_values(file, *matrix.scales));
  MLXN_ASSIGN(const auto biases, all_values(file, *matrix.biases));
  CodeReader reader(codes, matrix.format.bits);  // rows are whole words, so they follow each other
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t group = i / matrix.format.group_size;
    values[i] = scales[group] * static_cast<float>(reader.next()) + biases[group];
  }
  return {};
}

}  // namespace mlxn::io
