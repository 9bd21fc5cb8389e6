#include "mlxn/io/gguf_writer.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/ggml_types.h"
#include "mlxn/io/gguf.h"
#include "mlxn/io/internal/byte_writer.h"
#include "mlxn/io/internal/gguf_parse.h"
#include "mlxn/io/output_file.h"

namespace mlxn::io {
namespace {

constexpr std::string_view kAlignmentName = "general.alignment";

Error invalid(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

// Calls function(T{}) with the type that a scalar has in the file.
template <class Function>
auto with_stored_type(MetaType type, Function&& function) {
  switch (type) {
    case MetaType::kU8: return function(uint8_t{});
    case MetaType::kI8: return function(int8_t{});
    case MetaType::kU16: return function(uint16_t{});
    case MetaType::kI16: return function(int16_t{});
    case MetaType::kU32: return function(uint32_t{});
    case MetaType::kI32: return function(int32_t{});
    case MetaType::kF32: return function(float{});
    case MetaType::kU64: return function(uint64_t{});
    case MetaType::kI64: return function(int64_t{});
    case MetaType::kF64: return function(double{});
    case MetaType::kBool: return function(bool{});
    case MetaType::kString: return function(std::string_view{});
    case MetaType::kArray: break;
  }
  return function(MetaArray{});
}

// The C++ type in which metadata keeps a stored type.
template <class Stored>
using Number = std::conditional_t<std::is_floating_point_v<Stored>, double,
                                  std::conditional_t<std::is_signed_v<Stored>, int64_t, uint64_t>>;
template <class Stored>
struct KeptType {
  using type = Number<Stored>;
};
template <>
struct KeptType<bool> {
  using type = bool;
};
template <>
struct KeptType<std::string_view> {
  using type = std::string;
};
template <>
struct KeptType<MetaArray> {
  using type = MetaArray;
};
template <class Stored>
using Kept = typename KeptType<Stored>::type;

Status check_array(const MetaArray& array, uint32_t depth);

template <class Stored>
Status check_one(const Kept<Stored>& value, uint32_t depth) {
  if constexpr (std::is_same_v<Stored, MetaArray>) {
    return check_array(value, depth + 1);
  } else if constexpr (std::is_integral_v<Stored> && !std::is_same_v<Stored, bool>) {
    if (!std::in_range<Stored>(value))
      return invalid(str("value ", value, " does not fit into ", 8 * sizeof(Stored), " bits"));
  } else if constexpr (std::is_same_v<Stored, float>) {
    if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
      return invalid(str("value ", value, " does not fit into an f32"));
  }
  return {};
}

Error wrong_kind(MetaType type) {
  return invalid(str("the value is not of the type it is marked with: ", to_string(type)));
}

Status check_array(const MetaArray& array, uint32_t depth) {
  if (depth > GgufLimits{}.array_depth)
    return invalid(str("arrays nested deeper than ", GgufLimits{}.array_depth));
  return with_stored_type(array.type, [&](auto stored) -> Status {
    using Stored = decltype(stored);
    const auto* list = std::get_if<std::vector<Kept<Stored>>>(&array.elements);
    if (!list) return wrong_kind(array.type);
    for (const Kept<Stored>& value : *list) MLXN_TRY(check_one<Stored>(value, depth));
    return {};
  });
}

Status check_value(const MetaValue& value) {
  return with_stored_type(value.type, [&](auto stored) -> Status {
    using Stored = decltype(stored);
    const auto* one = std::get_if<Kept<Stored>>(&value.data);
    if (!one) return wrong_kind(value.type);
    return check_one<Stored>(*one, 0);
  });
}

void put_array(ByteWriter& out, const MetaArray& array);

template <class Stored>
void put_one(ByteWriter& out, const Kept<Stored>& value) {
  if constexpr (std::is_same_v<Stored, MetaArray>)
    put_array(out, value);
  else if constexpr (std::is_same_v<Stored, std::string_view>)
    out.counted_text(value);
  else
    out.number(static_cast<Stored>(value));
}

// Precondition of the two below: checked.
void put_array(ByteWriter& out, const MetaArray& array) {
  out.number(static_cast<uint32_t>(array.type));
  out.number<uint64_t>(array.size());
  with_stored_type(array.type, [&](auto stored) {
    using Stored = decltype(stored);
    for (const Kept<Stored>& value : *std::get_if<std::vector<Kept<Stored>>>(&array.elements))
      put_one<Stored>(out, value);
  });
}

void put_value(ByteWriter& out, const MetaValue& value) {
  out.number(static_cast<uint32_t>(value.type));
  with_stored_type(value.type, [&](auto stored) {
    using Stored = decltype(stored);
    put_one<Stored>(out, *std::get_if<Kept<Stored>>(&value.data));
  });
}

// Bytes of a tensor by its type and dims.
Result<uint64_t> tensor_bytes(uint32_t type, const std::vector<uint64_t>& dims) {
  const GgmlType* known = find_ggml_type(type);
  if (!known || known->block_elements == 0)
    return Error(ErrorCode::kUnsupported, str("tensors of type ", type, " have no known size"));
  if (dims.size() > kGgufMaxDims)
    return invalid(str(dims.size(), " dimensions, expected at most ", kGgufMaxDims));
  uint64_t elements = 1;
  for (uint64_t dim : dims) {
    if (dim == 0) return invalid("a dimension of 0, expected at least 1");
    MLXN_ASSIGN(elements, checked_mul(elements, dim));
  }
  if ((dims.empty() ? 1 : dims[0]) % known->block_elements != 0)
    return invalid(str("rows of ", dims.empty() ? 1 : dims[0], " elements of type ", known->name,
                       ", expected a multiple of ", known->block_elements));
  return checked_mul<uint64_t>(elements / known->block_elements, known->block_bytes);
}

}  // namespace

Status GgufWriter::add(std::string name, MetaValue value) {
  if (name == kAlignmentName)
    return invalid(str(kAlignmentName, " is written by itself: pass it to the constructor"));
  if (auto fits = check_gguf_name(name, GgufLimits{}.name_bytes); !fits)
    return invalid(fits.error().message());
  if (auto fits = check_value(value); !fits)
    return std::move(fits.error().add_context(str("metadata '", name, "'")));
  if (metadata_.has(name)) return invalid(str("metadata '", name, "' is there already"));
  return metadata_.add(std::move(name), std::move(value));
}

Status GgufWriter::add_tensor(std::string name, uint32_t type, std::vector<uint64_t> dims,
                              TensorSource source) {
  if (!std::has_single_bit(alignment_) || alignment_ > GgufLimits{}.alignment)
    return invalid(
        str("alignment ", alignment_, ", expected a power of two up to ", GgufLimits{}.alignment));
  if (auto fits = check_gguf_name(name, GgufLimits{}.name_bytes); !fits)
    return invalid(fits.error().message());
  if (tensor_names_.contains(name)) return invalid(str("tensor '", name, "' is there already"));
  auto bytes = tensor_bytes(type, dims);
  if (!bytes) return std::move(bytes.error().add_context(str("tensor '", name, "'")));
  MLXN_ASSIGN(const uint64_t offset, checked_align_up(data_bytes_, alignment_));
  MLXN_ASSIGN(data_bytes_, checked_add(offset, *bytes));
  tensor_names_.insert(name);
  tensors_.push_back({std::move(name), type, std::move(dims), *bytes, offset, std::move(source)});
  return {};
}

Status GgufWriter::add_tensor(std::string name, uint32_t type, std::vector<uint64_t> dims,
                              std::span<const std::byte> bytes) {
  MLXN_ASSIGN(const uint64_t expected, tensor_bytes(type, dims));
  if (bytes.size() != expected)
    return invalid(str("tensor '", name, "' with ", bytes.size(), " bytes, expected ", expected));
  return add_tensor(std::move(name), type, std::move(dims),
                    TensorSource([bytes] { return bytes; }));
}

Status GgufWriter::add_tensor(std::string name, Dtype dtype, std::vector<uint64_t> dims,
                              std::span<const std::byte> bytes) {
  const GgmlType* type = find_ggml_type(dtype);
  if (!type)
    return Error(ErrorCode::kUnsupported, str("GGUF has no tensors of type ", to_string(dtype)));
  return add_tensor(std::move(name), type->number, std::move(dims), bytes);
}

// Everything before the data, padding included.
std::vector<std::byte> GgufWriter::head() const {
  ByteWriter out;
  const bool own_alignment = alignment_ != kGgufDefaultAlignment;
  out.number(kGgufMagic);
  out.number(uint32_t{3});
  out.number<uint64_t>(tensors_.size());
  out.number<uint64_t>(metadata_.entries().size() + own_alignment);
  if (own_alignment) {
    out.counted_text(kAlignmentName);
    put_value(out, {.type = MetaType::kU32, .data = alignment_});
  }
  for (const auto& [name, value] : metadata_.entries()) {
    out.counted_text(name);
    put_value(out, value);
  }
  for (const Tensor& tensor : tensors_) {
    out.counted_text(tensor.name);
    out.number(static_cast<uint32_t>(tensor.dims.size()));
    for (uint64_t dim : tensor.dims) out.number(dim);
    out.number(tensor.type);
    out.number(tensor.offset);
  }
  out.zeros((alignment_ - out.size() % alignment_) % alignment_);
  return out.take();
}

Status GgufWriter::write_to(const Sink& sink) const {
  if (!std::has_single_bit(alignment_))
    return invalid(str("alignment ", alignment_, ", expected a power of two"));
  MLXN_TRY(sink(head()));
  const std::vector<std::byte> zeros(alignment_);
  for (const Tensor& tensor : tensors_) {
    MLXN_ASSIGN(const auto bytes, tensor.source());
    if (bytes.size() != tensor.bytes)
      return invalid(str("the source of tensor '", tensor.name, "' gave ", bytes.size(),
                         " bytes, expected ", tensor.bytes));
    MLXN_TRY(sink(bytes));
    const uint64_t padding = (alignment_ - tensor.bytes % alignment_) % alignment_;
    MLXN_TRY(sink(std::span(zeros).first(padding)));
  }
  return {};
}

Status GgufWriter::write(const std::string& path) const {
  MLXN_ASSIGN(OutputFile file, OutputFile::create(path));
  MLXN_TRY(write_to([&](std::span<const std::byte> bytes) { return file.write(bytes); }));
  return file.commit();
}

Result<std::vector<std::byte>> GgufWriter::to_bytes() const {
  ByteWriter out;
  MLXN_TRY(write_to([&](std::span<const std::byte> bytes) -> Status {
    out.append(bytes);
    return {};
  }));
  return out.take();
}

}  // namespace mlxn::io
