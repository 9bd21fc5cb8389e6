#include "mlxn/io/internal/safetensors_parse.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/internal/byte_reader.h"
#include "mlxn/io/internal/json_document.h"

namespace mlxn::io {
namespace {

using nlohmann::json;

Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

struct StoredType {
  std::string_view name;
  uint32_t bits;
  std::optional<Dtype> dtype;
};
constexpr StoredType kTypes[] = {
    {"F64", 64, {}},
    {"F32", 32, Dtype::kF32},
    {"F16", 16, Dtype::kF16},
    {"BF16", 16, Dtype::kBf16},
    {"I64", 64, Dtype::kI64},
    {"I32", 32, Dtype::kI32},
    {"I16", 16, Dtype::kI16},
    {"I8", 8, Dtype::kI8},
    {"U64", 64, Dtype::kU64},
    {"U32", 32, Dtype::kU32},
    {"U16", 16, Dtype::kU16},
    {"U8", 8, Dtype::kU8},
    {"BOOL", 8, Dtype::kBool},
    {"F8_E4M3", 8, {}},
    {"F8_E5M2", 8, {}},
    {"F8_E8M0", 8, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
    {"F4", 4, {}},
    {"C64", 64, {}},
};
constexpr std::string_view kUnknown = "unknown";

Result<uint64_t> whole_number(const json& value, std::string_view what) {
  const auto* number = value.get_ptr<const json::number_unsigned_t*>();
  if (number) return uint64_t{*number};
  return corrupt(str(what, " is ", value.type_name(), ", expected a whole number from 0"));
}

// Fields of a tensor; the offsets count from the start of the data.
struct Placed {
  TensorInfo info;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Status read_shape(const json& shape, const SafetensorsLimits& limits, TensorInfo& info) {
  if (!shape.is_array()) return corrupt(str("shape is ", shape.type_name(), ", expected a list"));
  if (shape.size() > limits.dims)
    return corrupt(str(shape.size(), " dimensions, expected at most ", limits.dims));
  info.elements = 1;
  for (const json& value : shape) {
    MLXN_ASSIGN(const uint64_t dim, whole_number(value, "a dimension"));
    auto product = checked_mul<uint64_t>(info.elements, dim);
    if (!product || !std::in_range<int64_t>(*product))
      return corrupt(str("more than 2^63 - 1 elements: a dimension is ", dim));
    info.elements = *product;
    info.dims.push_back(dim);
  }
  std::ranges::reverse(info.dims);
  return {};
}

Status read_type(const json& name, TensorInfo& info, uint64_t span) {
  const auto* text = name.get_ptr<const std::string*>();
  if (!text) return corrupt(str("dtype is ", name.type_name(), ", expected a string"));
  const auto* known = std::ranges::find(kTypes, std::string_view(*text), &StoredType::name);
  if (known == std::end(kTypes)) {
    info.type_name = kUnknown;
    return {};
  }
  info.type_name = known->name;
  info.dtype = known->dtype;
  auto bits = checked_mul<uint64_t>(info.elements, known->bits);
  if (!bits || *bits % 8 != 0 || *bits / 8 != span)
    return corrupt(str(info.elements, " elements of ", known->name, " in ", span,
                       " bytes, expected ", known->bits, " bits for each"));
  info.bytes = span;
  return {};
}

Result<Placed> read_tensor(const std::string& name, const json& fields,
                           const SafetensorsLimits& limits) {
  const json* type = member(fields, "dtype");
  const json* shape = member(fields, "shape");
  const json* offsets = member(fields, "data_offsets");
  if (!type || !shape || !offsets || fields.size() != 3)
    return corrupt("expected an object with dtype, shape and data_offsets");
  if (!offsets->is_array() || offsets->size() != 2)
    return corrupt("data_offsets, expected a list of two numbers");
  Placed out;
  out.info.name = name;
  MLXN_ASSIGN(out.begin, whole_number((*offsets)[0], "an offset"));
  MLXN_ASSIGN(out.end, whole_number((*offsets)[1], "an offset"));
  if (out.end < out.begin)
    return corrupt(str("ends at ", out.end, ", before its start ", out.begin));
  MLXN_TRY(read_shape(*shape, limits, out.info));
  MLXN_TRY(read_type(*type, out.info, out.end - out.begin));
  return out;
}

Status read_metadata(const json& fields, SafetensorsContents& out) {
  if (fields.is_null()) return {};  // MLX writes this where there is none
  if (!fields.is_object()) return corrupt("__metadata__, expected an object");
  for (const auto& [name, value] : fields.items()) {
    const auto* text = value.get_ptr<const std::string*>();
    if (!text)
      return corrupt(
          str("__metadata__ '", name, "' is ", value.type_name(), ", expected a string"));
    out.metadata.emplace(name, *text);
  }
  return {};
}

// The data must be covered from start to end: what no tensor owns could hide anything.
Status place_tensors(std::vector<Placed>&& placed, uint64_t start, uint64_t room,
                     SafetensorsContents& out) {
  std::ranges::sort(placed, {}, [](const Placed& p) { return std::pair(p.begin, p.end); });
  uint64_t covered = 0;
  for (Placed& tensor : placed) {
    if (tensor.begin != covered)
      return corrupt(str("tensor '", tensor.info.name, "' starts at ", tensor.begin, ", expected ",
                         covered, ": tensors follow each other"));
    if (tensor.end > room)
      return corrupt(str("tensor '", tensor.info.name, "' ends at ", tensor.end,
                         ", expected it inside the ", room, " bytes of data"));
    covered = tensor.end;
    tensor.info.offset = start + tensor.begin;
    out.tensors.push_back(std::move(tensor.info));
  }
  if (covered != room)
    return corrupt(str(room, " bytes of data, expected the ", covered, " bytes of the tensors"));
  return {};
}

Result<std::string_view> header_text(ByteReader& reader, const SafetensorsLimits& limits) {
  MLXN_ASSIGN(const auto size, reader.number<uint64_t>());
  if (size > limits.header_bytes)
    return corrupt(str("a header of ", size, " bytes, expected at most ", limits.header_bytes));
  return reader.text(size);
}

}  // namespace

Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> bytes,
                                              const SafetensorsLimits& limits) {
  ByteReader reader(bytes);
  MLXN_ASSIGN(const auto text, header_text(reader, limits));
  if (!text.starts_with('{')) return corrupt("the header does not start with {");
  MLXN_ASSIGN(const json header, parse_json(text, kSafetensorsDepth));
  if (header.size() > limits.tensors + 1)
    return corrupt(str(header.size(), " tensors, expected at most ", limits.tensors));
  SafetensorsContents out;
  std::vector<Placed> placed;
  for (const auto& [name, fields] : header.items()) {
    if (name == "__metadata__") {
      MLXN_TRY(read_metadata(fields, out));
      continue;
    }
    auto tensor = read_tensor(name, fields, limits);
    if (!tensor) return std::move(tensor.error().add_context(str("tensor '", name, "'")));
    placed.push_back(std::move(tensor).value());
  }
  MLXN_TRY(place_tensors(std::move(placed), reader.position(), reader.left(), out));
  return out;
}

}  // namespace mlxn::io
