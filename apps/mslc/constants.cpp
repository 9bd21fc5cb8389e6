#include <cstdlib>
#include <cstring>

#include "apps/mslc/options.h"
#include "mlxn/base/strings.h"

namespace mlxn::mslc {

namespace {

// Writes `text` as a value of an MTL::DataType. Scalars only: vectors are not used on command
// lines.
Status parse_value(const std::string& text, msl::ConstantValue& value) {
  bool word_true = text == "true", word_false = text == "false";
  char* end = nullptr;
  double number = word_true ? 1 : word_false ? 0 : std::strtod(text.c_str(), &end);
  if (!word_true && !word_false && (end == text.c_str() || *end))
    return Error(ErrorCode::kInvalidArgument, str("'", text, "' is no number"));
  auto put = [&](auto typed) { std::memcpy(value.bytes, &typed, sizeof(typed)); };
  switch (value.type) {
    case 3: put(float(number)); return {};
    case 16: put(_Float16(number)); return {};
    case 29:
    case 33: put(uint32_t(int64_t(number))); return {};
    case 37:
    case 41: put(uint16_t(int64_t(number))); return {};
    case 45:
    case 49: put(uint8_t(int64_t(number))); return {};
    case 53: put(uint8_t(number != 0)); return {};
    case 81:
    case 85: put(std::strtoll(text.c_str(), nullptr, 0)); return {};
    case 121: {
      float single = float(number);
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      put(uint16_t(bits >> 16));
      return {};
    }
    default:
      return Error(ErrorCode::kUnsupported,
                   str("constants of data type ", value.type, " cannot be set here"));
  }
}

}  // namespace

Result<std::vector<msl::ConstantValue>> resolve_constants(const std::vector<ConstantText>& texts,
                                                          const msl::LibraryInfo& info) {
  std::vector<msl::ConstantValue> values;
  for (const ConstantText& text : texts) {
    bool by_index =
        !text.key.empty() && text.key.find_first_not_of("0123456789") == std::string::npos;
    const msl::FunctionConstant* declared = nullptr;
    for (const msl::FunctionInfo& function : info.functions)
      for (const msl::FunctionConstant& constant : function.constants)
        if (by_index ? constant.index == std::strtoul(text.key.c_str(), nullptr, 10)
                     : constant.name == text.key)
          declared = &constant;
    if (!declared) continue;  // a constant of another file
    msl::ConstantValue value;
    value.name = declared->name;
    value.index = declared->index;
    value.type = declared->type;
    MLXN_TRY(parse_value(text.value, value));
    values.push_back(value);
  }
  return values;
}

}  // namespace mlxn::mslc
