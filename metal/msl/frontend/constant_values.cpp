#include "metal/msl/frontend/constant_values.h"

#include <cstring>

#include "mlxn/base/strings.h"

namespace mlxn::msl {

namespace {

// The element types a function constant may have. `first` is the MTL::DataType of the scalar;
// vectors follow.
struct ElementType {
  DataType first;
  unsigned bytes;
  const char* name;
  const char* bits;  // the unsigned type of the same size; null for bool
};

constexpr ElementType kElementTypes[] = {
    {3, 4, "float", "uint"},  {16, 2, "half", "ushort"},  {29, 4, "int", "uint"},
    {33, 4, "uint", "uint"},  {37, 2, "short", "ushort"}, {41, 2, "ushort", "ushort"},
    {45, 1, "char", "uchar"}, {49, 1, "uchar", "uchar"},  {53, 1, "bool", nullptr},
    {81, 8, "long", "ulong"}, {85, 8, "ulong", "ulong"},  {121, 2, "bfloat", "ushort"},
};

const ElementType* element_of(DataType type) {
  for (const ElementType& element : kElementTypes)
    if (type >= element.first && type < element.first + 4) return &element;
  return nullptr;
}

std::string type_name(DataType type) {
  const ElementType* element = element_of(type);
  if (!element) return str("data type ", type);
  DataType width = type - element->first + 1;
  return width == 1 ? element->name : str(element->name, width);
}

std::string scalar_text(const ElementType& element, const uint8_t* bytes) {
  if (!element.bits) return *bytes ? "true" : "false";
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, element.bytes);
  return str("__builtin_bit_cast(", element.name, ",(", element.bits, ")", bits, "ul)");
}

std::string initialiser(DataType type, const uint8_t* bytes) {
  const ElementType& element = *element_of(type);
  DataType width = type - element.first + 1;
  if (width == 1) return scalar_text(element, bytes);
  std::string text = str("metal::vec<", element.name, ",", width, ">(");
  for (DataType i = 0; i < width; ++i)
    text += (i ? "," : "") + scalar_text(element, bytes + i * element.bytes);
  return text + ")";
}

}  // namespace

Result<std::map<std::string, std::string>> constant_initialisers(
    const std::vector<FunctionConstant>& declared, const std::vector<ConstantValue>& values) {
  std::map<std::string, std::string> result;
  for (const ConstantValue& value : values) {
    bool found = false;
    for (const FunctionConstant& constant : declared) {
      if (value.name.empty() ? constant.index != value.index : constant.name != value.name)
        continue;
      found = true;
      DataType type = value.type ? value.type : constant.type;
      if (type != constant.type)
        return Error(ErrorCode::kInvalidArgument,
                     str("function constant '", constant.name, "' has type ",
                         type_name(constant.type), ", not ", type_name(type)));
      if (!element_of(type))
        return Error(ErrorCode::kUnsupported, str("function constant '", constant.name,
                                                  "' has a type no value can be set for"));
      result[constant.name] = initialiser(type, value.bytes);
    }
    if (!found && !value.name.empty())
      return Error(ErrorCode::kFunctionNotFound,
                   str("no function constant named '", value.name, "'"));
    if (!found)
      return Error(ErrorCode::kFunctionNotFound,
                   str("no function constant with index ", value.index));
  }
  return result;
}

}  // namespace mlxn::msl
