#include "mlxn/text/utf8.h"

namespace mlxn::text {
namespace {

// What the first byte promises: how many bytes follow, and the range of the second one, which rules
// out overlong forms, surrogates and values past U+10FFFF.
struct Lead {
  uint8_t following;
  uint8_t second_low;
  uint8_t second_high;
};

Lead lead_of(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3, 0x80, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.following == 0) return {0xFFFD, 1, false, false};
  uint32_t code_point = first & (0x3Fu >> lead.following);
  for (uint8_t i = 1; i <= lead.following; ++i) {
    if (i >= text.size()) return {0xFFFD, i, false, true};
    const auto byte = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {0xFFFD, i, false, false};
    code_point = (code_point << 6) | (byte & 0x3Fu);
  }
  return {code_point, static_cast<uint8_t>(lead.following + 1), true, false};
}

uint64_t utf8_length(std::string_view text) {
  uint64_t count = 0;
  for (; !text.empty(); text.remove_prefix(utf8_step(text).size)) ++count;
  return count;
}

void append_utf8(std::string& text, uint32_t code_point) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string Utf8Stream::push(std::string_view bytes) {
  held_ += bytes;
  return take(false);
}

std::string Utf8Stream::finish() {
  return take(true);
}

std::string Utf8Stream::take(bool at_end) {
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Step step = utf8_step(rest);
    if (step.incomplete && !at_end) break;
    if (step.valid || invalid_ == Invalid::kKeep) {
      out += rest.substr(0, step.size);
    } else {
      append_utf8(out, 0xFFFD);
    }
    rest.remove_prefix(step.size);
  }
  held_ = std::string(rest);
  return out;
}

}  // namespace mlxn::text
