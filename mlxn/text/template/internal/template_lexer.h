// Cuts the source of a template into text and the words inside its tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::text::detail {

struct Position {
  uint32_t line = 1;
  uint32_t column = 1;  // in bytes
};
// "line 3, column 7: message", as every error about a template reads.
Error template_error(ErrorCode code, Position at, std::string_view message);

struct Token {
  enum class Kind : uint8_t {
    kText,  // to be printed as it is
    kBlockBegin,
    kBlockEnd,
    kOutputBegin,
    kOutputEnd,
    kName,
    kString,  // text is its value
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  Position at;
};

// Line ends are made \n, one at the end of the source is dropped, blocks are trimmed (a line end
// after a block tag, spaces before one at the start of a line), "-" trims all space, "+" nothing;
// comments are gone and raw blocks are text.
Result<std::vector<Token>> lex_template(std::string_view source);

// Python's str.isspace for one code point.
bool is_python_space(uint32_t code_point);
// Without spaces at the start, the end, or both.
std::string_view strip_spaces(std::string_view text, bool at_start, bool at_end);

}  // namespace mlxn::text::detail
