// UTF-8 as models produce it: cut at any byte, and not always valid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mlxn::text {

// One step through a text. An invalid sequence is the longest start of a valid one, at least one
// byte (Unicode, section 3.9, "maximal subpart").
struct Utf8Step {
  uint32_t code_point = 0xFFFD;
  uint8_t size = 0;         // bytes; 0 only at the end of the text
  bool valid = false;       // code_point was spelled out
  bool incomplete = false;  // not valid, but more bytes could make it so
};
Utf8Step utf8_step(std::string_view text);

// The number of code points; each invalid sequence counts as one.
uint64_t utf8_length(std::string_view text);

void append_utf8(std::string& text, uint32_t code_point);

// Cuts a stream of bytes where code points end. What push() returns holds no incomplete sequence,
// so that each part can be shown at once. Any division of the same bytes gives the same text.
class Utf8Stream {
 public:
  enum class Invalid { kKeep, kReplace };  // kReplace: U+FFFD for each invalid sequence
  explicit Utf8Stream(Invalid invalid = Invalid::kReplace) : invalid_(invalid) {}

  std::string push(std::string_view bytes);
  // What was held back, which is incomplete and thus invalid. The stream starts anew.
  std::string finish();

 private:
  std::string take(bool at_end);

  Invalid invalid_;
  std::string held_;  // at most 3 bytes between calls
};

}  // namespace mlxn::text
