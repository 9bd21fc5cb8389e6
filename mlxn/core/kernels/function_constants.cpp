#include "mlxn/core/kernels/function_constants.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

static_assert(std::endian::native == std::endian::little);

// A family of types: the scalar, and behind it in MTL::DataType its vectors of 2, 3 and 4.
struct Family {
  MTL::DataType scalar;
  size_t bytes;
  const char* name;
};
constexpr Family kFamilies[] = {
    {MTL::DataTypeFloat, 4, "float"}, {MTL::DataTypeHalf, 2, "half"},
    {MTL::DataTypeInt, 4, "int"},     {MTL::DataTypeUInt, 4, "uint"},
    {MTL::DataTypeShort, 2, "short"}, {MTL::DataTypeUShort, 2, "ushort"},
    {MTL::DataTypeChar, 1, "char"},   {MTL::DataTypeUChar, 1, "uchar"},
    {MTL::DataTypeBool, 1, "bool"},   {MTL::DataTypeLong, 8, "long"},
    {MTL::DataTypeULong, 8, "ulong"}, {MTL::DataTypeBFloat, 2, "bfloat"},
};

struct ConstantType {
  const Family* family = nullptr;  // null: not a type of function constants
  size_t width = 1;                // components
  // A vector of three takes the room of four.
  size_t size() const { return family->bytes * (width == 3 ? 4 : width); }
  std::string name() const { return width == 1 ? family->name : str(family->name, width); }
};

ConstantType describe(MTL::DataType type) {
  for (const Family& family : kFamilies) {
    if (type >= family.scalar && type < family.scalar + 4) {
      return {&family, static_cast<size_t>(type - family.scalar) + 1};
    }
  }
  return {};
}

// The components in hexadecimal, separated by commas.
std::string to_hex(const ConstantType& type, const std::vector<std::byte>& bytes) {
  std::ostringstream out;
  out << std::hex;
  for (size_t i = 0; i < type.width; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * type.family->bytes, type.family->bytes);
    out << (i ? "," : "") << bits;
  }
  return std::move(out).str();
}

std::string value_text(const FunctionConstants::Value& value) {
  if (value.type == MTL::DataTypeBool) return value.bytes[0] == std::byte{0} ? "b0" : "b1";
  if (value.type == MTL::DataTypeInt) {
    int32_t number;
    std::memcpy(&number, value.bytes.data(), sizeof(number));
    return str("i", number);
  }
  const ConstantType type = describe(value.type);
  return str(type.name(), ":", to_hex(type, value.bytes));
}

FunctionConstants::Value make_value(MTL::DataType type, const void* bytes, size_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  FunctionConstants::Value value{type, {first, first + size}};
  const ConstantType known = describe(type);
  // One form for equal values: true is 1, and the fourth place of a vector of three is 0.
  if (known.family->scalar == MTL::DataTypeBool) {
    for (std::byte& byte : value.bytes) byte = std::byte{byte != std::byte{0}};
  }
  std::fill(value.bytes.begin() + static_cast<ptrdiff_t>(known.width * known.family->bytes),
            value.bytes.end(), std::byte{0});
  return value;
}

}  // namespace

FunctionConstants& FunctionConstants::set_bool(uint32_t index, bool value) {
  const uint8_t byte = value;
  values_[index] = make_value(MTL::DataTypeBool, &byte, sizeof(byte));
  return *this;
}

FunctionConstants& FunctionConstants::set_int(uint32_t index, int32_t value) {
  values_[index] = make_value(MTL::DataTypeInt, &value, sizeof(value));
  return *this;
}

Status FunctionConstants::set(uint32_t index, MTL::DataType type, const void* bytes, size_t size) {
  const ConstantType known = describe(type);
  if (!known.family) {
    return Error(ErrorCode::kInvalidArgument,
                 str("function constant ", index, " has MTL::DataType ", type,
                     ", expected a scalar or a vector of 2 to 4"));
  }
  if (!bytes || size != known.size()) {
    return Error(ErrorCode::kInvalidArgument,
                 str("function constant ", index, " has ", bytes ? size : 0,
                     " bytes, expected the ", known.size(), " of ", known.name()));
  }
  values_[index] = make_value(type, bytes, size);
  return {};
}

std::string FunctionConstants::to_string() const {
  std::string out;
  for (const auto& [index, value] : values_) out += str("|", index, ":", value_text(value));
  return out;
}

NS::SharedPtr<MTL::FunctionConstantValues> FunctionConstants::to_metal() const {
  auto metal = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  for (const auto& [index, value] : values_) {
    metal->setConstantValue(value.bytes.data(), value.type, NS::UInteger{index});
  }
  return metal;
}

}  // namespace mlxn
