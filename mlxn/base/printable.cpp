#include "mlxn/base/printable.h"

#include <cstdint>

namespace mlxn {

std::string printable(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  auto spell = [&](uint8_t byte) {
    out += "\\x";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<uint8_t>(text[i + 1]) : uint8_t{0};
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      spell(byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F, as UTF-8
      spell(next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace mlxn
