#include "mlxn/text/template/internal/template_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text::detail {
namespace {

bool is_lower(char byte) {
  return byte >= 'a' && byte <= 'z';
}
bool is_upper(char byte) {
  return byte >= 'A' && byte <= 'Z';
}
char to_upper(char byte) {
  return is_lower(byte) ? static_cast<char>(byte - 32) : byte;
}
char to_lower(char byte) {
  return is_upper(byte) ? static_cast<char>(byte + 32) : byte;
}

void append_hex(std::string& out, uint32_t code, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    out += "0123456789abcdef"[(code >> shift) & 15];
}

void append_string_repr(std::string& out, std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  out += quote;
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const uint32_t code = step.code_point;
    if (code == static_cast<uint8_t>(quote) || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n' || code == '\r' || code == '\t') {
      out += code == '\n' ? "\\n" : code == '\r' ? "\\r" : "\\t";
    } else if (step.valid && (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD)) {
      out += "\\x";
      append_hex(out, code, 2);
    } else {
      out += text.substr(0, step.size);
    }
    text.remove_prefix(step.size);
  }
  out += quote;
}

void append_json_string(std::string& out, std::string_view text, bool ascii) {
  constexpr std::string_view kBytes = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  out += '"';
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const uint32_t code = step.code_point;
    const size_t named = code < 0x80 ? kBytes.find(static_cast<char>(code)) : kBytes.npos;
    if (named != kBytes.npos) {
      out += '\\';
      out += kNames[named];
    } else if (code < 0x20 || (ascii && code > 0x7E && code < 0x10000)) {
      out += "\\u";
      append_hex(out, code, 4);
    } else if (ascii && code >= 0x10000) {
      out += "\\u";
      append_hex(out, 0xD800 + ((code - 0x10000) >> 10), 4);
      out += "\\u";
      append_hex(out, 0xDC00 + ((code - 0x10000) & 0x3FF), 4);
    } else {
      out += text.substr(0, step.size);
    }
    text.remove_prefix(step.size);
  }
  out += '"';
}

void append_line(std::string& out, const JsonStyle& style, int64_t level) {
  if (!style.indent) return;
  out += '\n';
  out.append(static_cast<size_t>(*style.indent * level), ' ');
}

template <class Items, class Append>
bool append_json_items(std::string& out, const Items& items, const JsonStyle& style, int64_t level,
                       Append append) {
  const std::string separator = !style.item_separator.empty() ? style.item_separator
                                : style.indent                ? ","
                                                              : ", ";
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    append_line(out, style, level + 1);
    if (!append(item)) return false;
  }
  append_line(out, style, level);
  return true;
}

}  // namespace

bool is_true(const Value& value) {
  if (const bool* flag = value.boolean()) return *flag;
  if (const int64_t* number = value.integer()) return *number != 0;
  if (const double* number = value.floating()) return *number != 0;
  if (const std::string* text = value.string()) return !text->empty();
  if (const ValueList* list = value.list()) return !list->empty();
  if (const ValueDict* dict = value.dict()) return !dict->empty();
  return !value.is_none() && !value.is_undefined();
}

bool is_number(const Value& value) {
  return value.boolean() || value.integer() || value.floating();
}

double number_of(const Value& value) {
  if (const bool* flag = value.boolean()) return *flag ? 1 : 0;
  if (const int64_t* number = value.integer()) return static_cast<double>(*number);
  if (const double* number = value.floating()) return *number;
  return 0;
}

std::string_view kind_name(const Value& value) {
  if (value.is_none()) return "none";
  if (value.boolean()) return "a truth value";
  if (value.integer()) return "an integer";
  if (value.floating()) return "a floating-point number";
  if (value.string()) return "a string";
  if (value.list()) return "a list";
  if (value.dict()) return "a dictionary";
  constexpr std::array<std::string_view, 6> kHandles = {"undefined", "a namespace", "a macro",
                                                        "a loop",    "a function",  "a method"};
  return kHandles[static_cast<size_t>(value.handle()->kind)];
}

bool equal(const Value& left, const Value& right) {
  if (is_number(left) && is_number(right)) {
    if (left.integer() && right.integer()) return *left.integer() == *right.integer();
    return number_of(left) == number_of(right);
  }
  if (left.string() && right.string()) return *left.string() == *right.string();
  if (const ValueList *a = left.list(), *b = right.list(); a && b)
    return left.is_tuple() == right.is_tuple() &&
           std::equal(a->begin(), a->end(), b->begin(), b->end(), equal);
  if (const ValueDict *a = left.dict(), *b = right.dict(); a && b) {
    if (a->size() != b->size()) return false;
    return std::all_of(a->begin(), a->end(), [&](const auto& item) {
      const Value* other = right.find(item.first);
      return other && equal(item.second, *other);
    });
  }
  if (left.handle() && right.handle())
    return (left.is_undefined() && right.is_undefined()) || *left.handle() == *right.handle();
  return left.is_none() && right.is_none();
}

std::optional<int> compare(const Value& left, const Value& right) {
  if (left.integer() && right.integer())
    return *left.integer() < *right.integer() ? -1 : *left.integer() > *right.integer();
  if (is_number(left) && is_number(right)) {
    const double a = number_of(left);
    const double b = number_of(right);
    if (std::isnan(a) || std::isnan(b)) return std::nullopt;
    return a < b ? -1 : a > b;
  }
  if (left.string() && right.string()) {
    const int order = left.string()->compare(*right.string());  // bytes order as code points do
    return order < 0 ? -1 : order > 0;
  }
  if (const ValueList *a = left.list(), *b = right.list(); a && b) {
    for (size_t i = 0; i < std::min(a->size(), b->size()); ++i) {
      if (!equal((*a)[i], (*b)[i])) return compare((*a)[i], (*b)[i]);
    }
    return a->size() < b->size() ? -1 : a->size() > b->size();
  }
  return std::nullopt;
}

std::string float_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto done =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<size_t>(done.ptr - buffer));
  std::string out;
  if (text.starts_with('-')) {
    out = "-";
    text.remove_prefix(1);
  }
  const size_t e = text.find('e');
  int exponent = 0;
  const size_t sign = text[e + 1] == '+' ? 1 : 0;
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, e));
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    out += exponent < 0 ? "e-" : "e+";
    const int size = std::abs(exponent);
    return out + (size < 10 ? "0" : "") + std::to_string(size);
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string text_of(const Value& value) {
  if (const std::string* text = value.string()) return *text;
  if (value.is_undefined()) return "";
  std::string out;
  append_repr(out, value);
  return out;
}

void append_repr(std::string& out, const Value& value) {
  if (const std::string* text = value.string()) return append_string_repr(out, *text);
  if (value.is_none()) out += "None";
  if (const bool* flag = value.boolean()) out += *flag ? "True" : "False";
  if (const int64_t* number = value.integer()) out += std::to_string(*number);
  if (const double* number = value.floating()) out += float_text(*number);
  if (value.handle()) out += value.is_undefined() ? "Undefined" : kind_name(value);
  if (const ValueList* list = value.list()) {
    out += value.is_tuple() ? '(' : '[';
    for (size_t i = 0; i < list->size(); ++i) {
      if (i > 0) out += ", ";
      append_repr(out, (*list)[i]);
    }
    if (value.is_tuple() && list->size() == 1) out += ',';
    out += value.is_tuple() ? ')' : ']';
  }
  if (const ValueDict* dict = value.dict()) {
    out += '{';
    for (size_t i = 0; i < dict->size(); ++i) {
      if (i > 0) out += ", ";
      append_string_repr(out, (*dict)[i].first);
      out += ": ";
      append_repr(out, (*dict)[i].second);
    }
    out += '}';
  }
}

bool append_json(std::string& out, const Value& value, const JsonStyle& style, int64_t level) {
  if (const std::string* text = value.string()) {
    append_json_string(out, *text, style.ascii);
  } else if (value.is_none()) {
    out += "null";
  } else if (const bool* flag = value.boolean()) {
    out += *flag ? "true" : "false";
  } else if (const double* number = value.floating()) {
    out += std::isnan(*number)   ? "NaN"
           : std::isinf(*number) ? (*number < 0 ? "-Infinity" : "Infinity")
                                 : float_text(*number);
  } else if (value.integer()) {
    append_repr(out, value);
  } else if (const ValueList* list = value.list()) {
    if (list->empty()) return out += "[]", true;
    out += '[';
    if (!append_json_items(out, *list, style, level, [&](const Value& item) {
          return append_json(out, item, style, level + 1);
        }))
      return false;
    out += ']';
  } else if (value.dict()) {
    ValueDict items = *value.dict();
    if (items.empty()) return out += "{}", true;
    if (style.sort_keys)
      std::sort(items.begin(), items.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    out += '{';
    if (!append_json_items(out, items, style, level, [&](const auto& item) {
          append_json_string(out, item.first, style.ascii);
          out += style.key_separator.empty() ? ": " : style.key_separator;
          return append_json(out, item.second, style, level + 1);
        }))
      return false;
    out += '}';
  } else {
    return false;
  }
  return true;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t size = utf8_step(text).size;
    out.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return out;
}

std::string upper_text(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_upper);
  return out;
}

std::string lower_text(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

std::string capitalized_text(std::string_view text) {
  std::string out = lower_text(text);
  if (!out.empty()) out[0] = to_upper(out[0]);
  return out;
}

std::string title_text(std::string_view text) {
  std::string out = lower_text(text);
  bool in_word = false;
  for (char& byte : out) {
    const bool letter = is_lower(byte) || static_cast<uint8_t>(byte) >= 0x80;
    if (!in_word) byte = to_upper(byte);
    in_word = letter;
  }
  return out;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to,
                     int64_t most) {
  std::string out;
  size_t done = 0;
  for (size_t at = 0; most != 0 && at <= text.size(); --most) {
    if (from.empty()) {  // before every character and at the end
      out += to;
      const size_t size = utf8_step(text.substr(at)).size;
      out += text.substr(at, size);
      done = at += size;
      if (size == 0) break;
      continue;
    }
    const size_t found = text.find(from, at);
    if (found == text.npos) break;
    out += text.substr(done, found - done);
    out += to;
    done = at = found + from.size();
  }
  out += text.substr(std::min(done, text.size()));
  return out;
}

}  // namespace mlxn::text::detail
