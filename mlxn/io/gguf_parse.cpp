#include "mlxn/io/internal/gguf_parse.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/ggml_types.h"
#include "mlxn/io/internal/byte_reader.h"

namespace mlxn::io {
namespace {

Error corrupt(std::string message) {
  return Error(ErrorCode::kCorruptData, std::move(message));
}

// The same error, with the place in front.
template <class T>
Result<T> in_context(Result<T> result, const std::string& context) {
  if (!result) result.error().add_context(context);
  return result;
}

// Fewest bytes that a value of a type takes in the file.
uint64_t least_bytes(MetaType type) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kI8:
    case MetaType::kBool: return 1;
    case MetaType::kU16:
    case MetaType::kI16: return 2;
    case MetaType::kU32:
    case MetaType::kI32:
    case MetaType::kF32: return 4;
    case MetaType::kU64:
    case MetaType::kI64:
    case MetaType::kF64:
    case MetaType::kString: return 8;
    case MetaType::kArray: return 12;
  }
  return 1;
}

// Bytes that a value takes in memory, without the bytes of a text.
uint64_t memory_bytes(MetaType type) {
  if (type == MetaType::kString) return sizeof(std::string);
  return type == MetaType::kArray ? sizeof(MetaArray) : 8;
}

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, const GgufLimits& limits)
      : reader_(bytes), size_(bytes.size()), limits_(limits) {}

  Result<GgufContents> run() {
    MLXN_TRY(header());
    for (uint64_t i = 0; i < entry_count_; ++i)
      MLXN_TRY(in_context(entry(), str("metadata entry ", i)));
    MLXN_TRY(alignment());
    for (uint64_t i = 0; i < tensor_count_; ++i) MLXN_TRY(in_context(tensor(), str("tensor ", i)));
    MLXN_TRY(place_tensors());
    return std::move(contents_);
  }

 private:
  Status header() {
    MLXN_ASSIGN(const auto magic, reader_.number<uint32_t>());
    if (magic != kGgufMagic)
      return corrupt(str("magic number ", magic, ", expected GGUF's ", kGgufMagic));
    MLXN_ASSIGN(const auto version, reader_.number<uint32_t>());
    if (version != 0 && (version & 0xFFFF) == 0)
      return Error(ErrorCode::kUnsupported, "a big-endian file, expected little-endian");
    if (version != 2 && version != 3)
      return Error(ErrorCode::kUnsupported, str("GGUF version ", version, ", expected 2 or 3"));
    contents_.version = version;
    MLXN_ASSIGN(tensor_count_, reader_.number<uint64_t>());
    MLXN_ASSIGN(entry_count_, reader_.number<uint64_t>());
    // A name of one byte and its length; then a type and a byte, or dims, type and offset.
    MLXN_TRY(check_count("tensors", tensor_count_, limits_.tensors, 25));
    return check_count("metadata entries", entry_count_, limits_.metadata_entries, 14);
  }

  // Nothing is allocated for a count that the rest of the file cannot hold.
  Status check_count(std::string_view what, uint64_t count, uint64_t limit, uint64_t least) {
    if (count > limit) return corrupt(str(count, " ", what, ", expected at most ", limit));
    if (count > reader_.left() / least)
      return corrupt(str(count, " ", what, " in ", reader_.left(), " bytes, expected at most ",
                         reader_.left() / least));
    return {};
  }

  Status charge(uint64_t bytes) {
    if (bytes > limits_.metadata_memory - memory_)
      return corrupt(str("metadata takes more than ", limits_.metadata_memory, " bytes of memory"));
    memory_ += bytes;
    return {};
  }

  Result<std::string> name() {
    MLXN_ASSIGN(const auto size, reader_.number<uint64_t>());
    if (size > limits_.name_bytes)
      return corrupt(str("a name of ", size, " bytes, expected at most ", limits_.name_bytes));
    MLXN_ASSIGN(const auto text, reader_.text(size));
    MLXN_TRY(check_gguf_name(text, limits_.name_bytes));
    return std::string(text);
  }

  Result<std::string> string() {
    MLXN_ASSIGN(const auto size, reader_.number<uint64_t>());
    MLXN_ASSIGN(const auto text, reader_.text(size));
    MLXN_TRY(charge(size));
    return std::string(text);
  }

  Result<bool> flag() {
    MLXN_ASSIGN(const auto byte, reader_.number<uint8_t>());
    if (byte > 1) return corrupt(str("truth value ", +byte, ", expected 0 or 1"));
    return byte == 1;
  }

  Result<MetaType> type() {
    MLXN_ASSIGN(const auto number, reader_.number<uint32_t>());
    if (number > static_cast<uint32_t>(MetaType::kF64))
      return corrupt(str("value type ", number, ", expected 0 to 12"));
    return static_cast<MetaType>(number);
  }

  Status entry() {
    MLXN_ASSIGN(auto key, name());
    MLXN_ASSIGN(auto value, in_context(entry_value(), str("'", key, "'")));
    return contents_.metadata.add(std::move(key), std::move(value));
  }

  Result<MetaValue> entry_value() {
    MLXN_ASSIGN(const auto value_type, type());
    MLXN_TRY(charge(sizeof(MetaValue)));
    MetaValue value{.type = value_type};
    if (value_type == MetaType::kArray) {
      MLXN_ASSIGN(value.data, array(1));
      return value;
    }
    // A scalar is read as an array of one.
    MLXN_ASSIGN(auto one, elements(value_type, 1, 0));
    std::visit(
        [&](auto& list) {
          using Element = typename std::decay_t<decltype(list)>::value_type;
          value.data = Element(std::move(list.front()));
        },
        one);
    return value;
  }

  Result<MetaArray> array(uint32_t depth) {
    if (depth > limits_.array_depth)
      return corrupt(str("arrays nested deeper than ", limits_.array_depth));
    MetaArray out;
    MLXN_ASSIGN(out.type, type());
    MLXN_ASSIGN(const auto count, reader_.number<uint64_t>());
    if (count > reader_.left() / least_bytes(out.type))
      return corrupt(str("an array of ", count, " values of type ", to_string(out.type), " in ",
                         reader_.left(), " bytes"));
    MLXN_TRY(charge(count * memory_bytes(out.type)));
    MLXN_ASSIGN(out.elements, elements(out.type, count, depth));
    return out;
  }

  Result<MetaArray::Elements> elements(MetaType element, uint64_t count, uint32_t depth) {
    switch (element) {
      case MetaType::kU8: return numbers<uint64_t, uint8_t>(count);
      case MetaType::kI8: return numbers<int64_t, int8_t>(count);
      case MetaType::kU16: return numbers<uint64_t, uint16_t>(count);
      case MetaType::kI16: return numbers<int64_t, int16_t>(count);
      case MetaType::kU32: return numbers<uint64_t, uint32_t>(count);
      case MetaType::kI32: return numbers<int64_t, int32_t>(count);
      case MetaType::kF32: return numbers<double, float>(count);
      case MetaType::kU64: return numbers<uint64_t, uint64_t>(count);
      case MetaType::kI64: return numbers<int64_t, int64_t>(count);
      case MetaType::kF64: return numbers<double, double>(count);
      case MetaType::kBool: return list<bool>(count, [&] { return flag(); });
      case MetaType::kString: return list<std::string>(count, [&] { return string(); });
      case MetaType::kArray: return list<MetaArray>(count, [&] { return array(depth + 1); });
    }
    return corrupt("no such value type");
  }

  template <class Stored, class T>
  Result<MetaArray::Elements> numbers(uint64_t count) {
    return list<Stored>(count, [&] { return reader_.number<T>(); });
  }

  template <class Stored, class Next>
  Result<MetaArray::Elements> list(uint64_t count, Next&& next) {
    std::vector<Stored> out;
    out.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      MLXN_ASSIGN(auto value, next());
      out.push_back(static_cast<Stored>(std::move(value)));
    }
    return MetaArray::Elements(std::move(out));
  }

  Status alignment() {
    MLXN_ASSIGN(alignment_,
                contents_.metadata.unsigned_integer("general.alignment", kGgufDefaultAlignment));
    if (std::has_single_bit(alignment_) && alignment_ <= limits_.alignment) return {};
    return corrupt(str("general.alignment is ", alignment_, ", expected a power of two up to ",
                       limits_.alignment));
  }

  Status tensor() {
    TensorInfo info;
    MLXN_ASSIGN(info.name, name());
    const std::string context = str("'", info.name, "'");
    MLXN_TRY(in_context(dims(info), context));
    MLXN_ASSIGN(info.type, reader_.number<uint32_t>());
    MLXN_TRY(in_context(measure(info), context));
    MLXN_ASSIGN(info.offset, reader_.number<uint64_t>());
    contents_.tensors.push_back(std::move(info));
    return {};
  }

  Status dims(TensorInfo& info) {
    MLXN_ASSIGN(const auto count, reader_.number<uint32_t>());
    if (count > kGgufMaxDims)
      return corrupt(str(count, " dimensions, expected at most ", kGgufMaxDims));
    info.elements = 1;
    for (uint32_t d = 0; d < count; ++d) {
      MLXN_ASSIGN(const auto dim, reader_.number<uint64_t>());
      if (dim == 0) return corrupt(str("dimension ", d, " is 0, expected at least 1"));
      info.dims.push_back(dim);
      auto product = checked_mul<uint64_t>(info.elements, dim);
      if (!product || !std::in_range<int64_t>(*product))
        return corrupt(str("more than 2^63 - 1 elements: dimension ", d, " is ", dim));
      info.elements = *product;
    }
    return {};
  }

  // Type and size. A type that is not known leaves a tensor without data.
  Status measure(TensorInfo& info) {
    const GgmlType* known = find_ggml_type(info.type);
    info.type_name = known ? known->name : "unknown";
    if (!known || known->block_elements == 0) return {};
    info.dtype = known->dtype;
    const uint64_t row = info.dims.empty() ? 1 : info.dims[0];
    if (row % known->block_elements != 0)
      return corrupt(str("rows of ", row, " elements of type ", known->name,
                         ", expected a multiple of ", known->block_elements));
    auto bytes = checked_mul<uint64_t>(info.elements / known->block_elements, known->block_bytes);
    if (!bytes || *bytes > size_)
      return corrupt(str(info.elements, " elements of type ", known->name,
                         " take more bytes than the file has: ", size_));
    info.bytes = *bytes;
    return {};
  }

  // Offsets count from the start of the data; the result counts from the start of the file.
  Status place_tensors() {
    if (contents_.tensors.empty()) return {};
    MLXN_ASSIGN(const uint64_t start, checked_align_up(reader_.position(), alignment_));
    const uint64_t room = start <= size_ ? size_ - start : 0;
    for (TensorInfo& info : contents_.tensors) {
      if (info.offset % alignment_ != 0)
        return corrupt(str("tensor '", info.name, "' at ", info.offset, ", expected a multiple of ",
                           alignment_));
      if (start > size_ || !span_fits(info.offset, info.bytes, room))
        return corrupt(str("tensor '", info.name, "' has ", info.bytes, " bytes at ", info.offset,
                           ", expected them inside the ", room, " bytes of data"));
      info.offset += start;
    }
    return check_overlaps();
  }

  Status check_overlaps() const {
    std::vector<const TensorInfo*> order;
    for (const TensorInfo& info : contents_.tensors) {
      if (info.bytes > 0) order.push_back(&info);
    }
    std::ranges::sort(order, {}, &TensorInfo::offset);
    for (size_t i = 1; i < order.size(); ++i) {
      const TensorInfo& before = *order[i - 1];
      if (before.offset + before.bytes > order[i]->offset)
        return corrupt(str("tensors '", before.name, "' and '", order[i]->name,
                           "' overlap: one ends at ", before.offset + before.bytes,
                           ", the other starts at ", order[i]->offset));
    }
    return {};
  }

  ByteReader reader_;
  uint64_t size_;
  const GgufLimits& limits_;
  uint64_t memory_ = 0;
  uint64_t tensor_count_ = 0;
  uint64_t entry_count_ = 0;
  uint64_t alignment_ = kGgufDefaultAlignment;
  GgufContents contents_;
};

}  // namespace

Status check_gguf_name(std::string_view name, uint64_t limit) {
  if (name.empty() || name.size() > limit)
    return corrupt(str("a name of ", name.size(), " bytes, expected 1 to ", limit));
  if (name.find('\0') != name.npos) return corrupt("a name with a NUL byte");
  return {};
}

Result<GgufContents> parse_gguf(std::span<const std::byte> bytes, const GgufLimits& limits) {
  return Parser(bytes, limits).run();
}

}  // namespace mlxn::io
