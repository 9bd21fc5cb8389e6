#include "metal/rt/foundation/unicode.h"

#include <algorithm>
#include <cstdint>

namespace mlxn::rt {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;

bool is_surrogate(char32_t c) {
  return c >= 0xd800 && c <= 0xdfff;
}
bool is_scalar(char32_t c) {
  return c <= kLastCodePoint && !is_surrogate(c);
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 63));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 63));
    out += static_cast<char>(0x80 | (c >> 6 & 63));
    out += static_cast<char>(0x80 | (c & 63));
  }
}

bool is_ascii(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

std::optional<std::u32string> from_utf8(std::string_view bytes) {
  std::u32string out;
  for (size_t i = 0; i < bytes.size();) {
    const auto first = static_cast<uint8_t>(bytes[i]);
    const int extra = first < 0x80       ? 0
                      : first >> 5 == 6  ? 1
                      : first >> 4 == 14 ? 2
                      : first >> 3 == 30 ? 3
                                         : -1;
    if (extra < 0 || i + extra >= bytes.size()) return {};
    char32_t c = extra == 0 ? first : first & (0x3f >> extra);
    for (int k = 1; k <= extra; ++k) {
      const auto next = static_cast<uint8_t>(bytes[i + k]);
      if (next >> 6 != 2) return {};
      c = c << 6 | (next & 63);
    }
    constexpr char32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // shorter forms are not valid
    if (!is_scalar(c) || c < kSmallest[extra]) return {};
    out += c;
    i += extra + 1;
  }
  return out;
}

std::u16string units_of(std::u32string_view text) {
  std::u16string out;
  for (char32_t c : text) {
    if (c < 0x10000) {
      out += static_cast<char16_t>(c);
    } else {
      out += static_cast<char16_t>(0xd800 + ((c - 0x10000) >> 10));
      out += static_cast<char16_t>(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  return out;
}

// How an encoding stores one unit.
struct Form {
  size_t bytes = 0;  // 0: not supported
  bool big_endian = false;
};

Form form_of(NS::StringEncoding encoding) {
  switch (encoding) {
    case NS::ASCIIStringEncoding:
    case NS::UTF8StringEncoding:
    case NS::ISOLatin1StringEncoding: return {1, false};
    case NS::UTF16StringEncoding:
    case NS::UTF16LittleEndianStringEncoding: return {2, false};
    case NS::UTF16BigEndianStringEncoding: return {2, true};
    case NS::UTF32StringEncoding:
    case NS::UTF32LittleEndianStringEncoding: return {4, false};
    case NS::UTF32BigEndianStringEncoding: return {4, true};
    default: return {};
  }
}

char32_t read_unit(std::string_view bytes, size_t at, Form form) {
  char32_t value = 0;
  for (size_t k = 0; k < form.bytes; ++k) {
    const auto byte = static_cast<uint8_t>(bytes[at + k]);
    value |= static_cast<char32_t>(byte) << 8 * (form.big_endian ? form.bytes - 1 - k : k);
  }
  return value;
}

void write_unit(std::string& out, char32_t value, Form form) {
  for (size_t k = 0; k < form.bytes; ++k) {
    out += static_cast<char>(value >> 8 * (form.big_endian ? form.bytes - 1 - k : k));
  }
}

}  // namespace

std::optional<std::string> decode(std::string_view bytes, NS::StringEncoding encoding) {
  const Form form = form_of(encoding);
  if (form.bytes == 0 || bytes.size() % form.bytes != 0) return {};
  if (encoding == NS::UTF8StringEncoding || encoding == NS::ASCIIStringEncoding) {
    if (is_ascii(bytes) || from_utf8(bytes)) return std::string(bytes);
    if (encoding == NS::UTF8StringEncoding) return {};
  }
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += form.bytes) {
    char32_t c = read_unit(bytes, i, form);
    if (form.bytes == 2 && c >= 0xd800 && c < 0xdc00 && i + 4 <= bytes.size()) {
      const char32_t low = read_unit(bytes, i + 2, form);
      if (low < 0xdc00 || low > 0xdfff) return {};
      c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      i += 2;
    }
    if (!is_scalar(c)) return {};
    append_utf8(out, c);
  }
  return out;
}

std::optional<std::string> encode(std::string_view utf8, NS::StringEncoding encoding) {
  const Form form = form_of(encoding);
  if (form.bytes == 0) return {};
  if (encoding == NS::UTF8StringEncoding) return std::string(utf8);
  const auto text = from_utf8(utf8);
  if (!text) return {};
  std::string out;
  if (form.bytes == 2) {
    for (char16_t unit : units_of(*text)) write_unit(out, unit, form);
    return out;
  }
  const char32_t last = encoding == NS::ASCIIStringEncoding       ? 127
                        : encoding == NS::ISOLatin1StringEncoding ? 255
                                                                  : kLastCodePoint;
  for (char32_t c : *text) {
    if (c > last) return {};
    write_unit(out, c, form);
  }
  return out;
}

std::u16string to_utf16(std::string_view utf8) {
  const auto text = from_utf8(utf8);
  return text ? units_of(*text) : std::u16string();
}

}  // namespace mlxn::rt
