#include "mlxn/text/template/internal/template_lexer.h"

#include <algorithm>
#include <charconv>

#include "mlxn/base/strings.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text::detail {
namespace {

bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}
bool is_name_start(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// Every kind of line end becomes \n; the last one is dropped.
std::string normalise(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalise(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) MLXN_TRY(lex_text());
    push(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool looking_at(std::string_view text) const { return rest().starts_with(text); }
  void advance(size_t bytes) {
    for (size_t end = at_ + bytes; at_ < end; ++at_) {
      position_.column = source_[at_] == '\n' ? 1 : position_.column + 1;
      position_.line += source_[at_] == '\n' ? 1 : 0;
    }
  }
  void push(Token::Kind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), position_});
  }
  Error fail(std::string_view message) const {
    return template_error(ErrorCode::kInvalidArgument, position_, message);
  }

  // Text up to the next tag, then the tag.
  Status lex_text() {
    size_t length = 0;
    std::string_view text = rest();
    while (true) {
      length = text.find('{', length);
      if (length == text.npos) break;
      const char next = length + 1 < text.size() ? text[length + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++length;
    }
    if (length == text.npos) {
      push(Token::Kind::kText, std::string(text));
      advance(text.size());
      return {};
    }
    const char kind = text[length + 1];
    const char sign = length + 2 < text.size() ? text[length + 2] : '\0';
    text = trim_before(text.substr(0, length), kind != '{', sign);
    if (!text.empty()) push(Token::Kind::kText, std::string(text));
    advance(length);
    const Position begin = position_;
    advance(2 + (sign == '-' || sign == '+' ? 1 : 0));
    if (kind == '#') return lex_comment(begin);
    if (kind == '%' && is_raw()) return lex_raw(begin);
    tokens_.push_back(
        {kind == '%' ? Token::Kind::kBlockBegin : Token::Kind::kOutputBegin, "", begin});
    return lex_tag(kind == '%', begin);
  }

  // What a tag leaves of the text before it.
  std::string_view trim_before(std::string_view text, bool block, char sign) const {
    if (sign == '-') return strip_spaces(text, false, true);
    if (sign == '+' || !block) return text;
    const size_t line_end = text.rfind('\n');
    if (line_end == text.npos && !at_line_start_) return text;
    const size_t line = line_end == text.npos ? 0 : line_end + 1;
    return strip_spaces(text.substr(line), true, false).empty() ? text.substr(0, line) : text;
  }

  // If a tag ends here, passes it and the space that it trims.
  bool take_end(std::string_view end, bool trims_line) {
    if (rest().empty()) return false;
    const bool has_sign = rest().substr(1).starts_with(end);
    size_t length = end.size();
    if (has_sign && rest()[0] == '-') {
      const std::string_view after = rest().substr(1 + length);
      length += 1 + after.size() - strip_spaces(after, true, false).size();
    } else if (has_sign && trims_line && rest()[0] == '+') {
      ++length;
    } else if (looking_at(end)) {
      if (trims_line && rest().substr(length).starts_with('\n')) ++length;
    } else {
      return false;
    }
    at_line_start_ = source_[at_ + length - 1] == '\n';
    advance(length);
    return true;
  }

  Status lex_comment(Position begin) {
    while (at_ < source_.size()) {
      if (take_end("#}", true)) return {};
      advance(1);
    }
    return template_error(ErrorCode::kInvalidArgument, begin, "a comment without end");
  }

  static size_t spaces(std::string_view text) {
    return text.size() - strip_spaces(text, true, false).size();
  }
  // Whether the tag is {% raw %}: nothing else may stand in it.
  bool is_raw() const {
    std::string_view text = rest().substr(spaces(rest()));
    if (!text.starts_with("raw")) return false;
    text.remove_prefix(3);
    text.remove_prefix(spaces(text));
    return text.starts_with("%}") || text.starts_with("-%}");
  }

  Status lex_raw(Position begin) {
    advance(spaces(rest()));
    advance(3);
    advance(spaces(rest()));
    // A line end after this tag stays.
    if (looking_at("-")) {
      take_end("%}", false);
    } else {
      advance(2);
      at_line_start_ = false;
    }
    for (size_t length = 0; (length = rest().find("{%", length)) != std::string::npos; ++length) {
      std::string_view tag = rest().substr(length + 2);
      const char sign = tag.empty() ? '\0' : tag[0];
      if (sign == '-' || sign == '+') tag.remove_prefix(1);
      tag.remove_prefix(spaces(tag));
      if (!tag.starts_with("endraw")) continue;
      const std::string_view text = trim_before(rest().substr(0, length), true, sign);
      if (!text.empty()) push(Token::Kind::kText, std::string(text));
      advance(rest().size() - tag.size() + 6);
      advance(spaces(rest()));
      if (!take_end("%}", true)) return fail("expected the end of endraw");
      return {};
    }
    return template_error(ErrorCode::kInvalidArgument, begin, "raw without endraw");
  }

  Status lex_tag(bool block, Position begin) {
    const std::string_view end = block ? "%}" : "}}";
    std::string open;  // brackets not closed yet
    while (true) {
      if (open.empty()) {
        const Position at = position_;
        if (take_end(end, block)) {
          tokens_.push_back({block ? Token::Kind::kBlockEnd : Token::Kind::kOutputEnd, "", at});
          return {};
        }
      }
      if (at_ >= source_.size())
        return template_error(ErrorCode::kInvalidArgument, begin, "a tag without end");
      const size_t space = spaces(rest());
      if (space > 0) {
        advance(space);
        continue;
      }
      MLXN_TRY(lex_word(open));
    }
  }

  Status lex_word(std::string& open) {
    const char first = source_[at_];
    if (first == '"' || first == '\'') return lex_string(first);
    if (is_digit(first)) return lex_number();
    if (is_name_start(first)) {
      size_t length = 1;
      while (at_ + length < source_.size() &&
             (is_name_start(source_[at_ + length]) || is_digit(source_[at_ + length])))
        ++length;
      push(Token::Kind::kName, std::string(rest().substr(0, length)));
      advance(length);
      return {};
    }
    return lex_operator(open);
  }

  Status lex_operator(std::string& open) {
    for (std::string_view two : {"//", "**", "==", "!=", ">=", "<="}) {
      if (!looking_at(two)) continue;
      push(Token::Kind::kOperator, std::string(two));
      advance(2);
      return {};
    }
    const char one = source_[at_];
    constexpr std::string_view kOpening = "([{";
    constexpr std::string_view kClosing = ")]}";
    if (std::string_view("+-/*%~[](){}<>=.:|,").find(one) == std::string_view::npos)
      return fail(str("'", rest().substr(0, utf8_step(rest()).size), "' is not known here"));
    if (kOpening.find(one) != kOpening.npos) open += one;
    if (const size_t pair = kClosing.find(one); pair != kClosing.npos) {
      if (open.empty() || open.back() != kOpening[pair])
        return fail(str("'", std::string(1, one), "' closes nothing"));
      open.pop_back();
    }
    push(Token::Kind::kOperator, std::string(1, one));
    advance(1);
    return {};
  }

  size_t digits(size_t from) const {
    size_t length = 0;
    while (at_ + from + length < source_.size() && is_digit(source_[at_ + from + length])) ++length;
    return length;
  }

  Status lex_number() {
    size_t length = digits(0);
    bool is_float = false;
    if (rest().substr(length).starts_with('.') && digits(length + 1) > 0) {
      is_float = true;
      length += 1 + digits(length + 1);
    }
    const std::string_view tail = rest().substr(length);
    if (tail.starts_with('e') || tail.starts_with('E')) {
      const size_t sign = tail.size() > 1 && (tail[1] == '+' || tail[1] == '-') ? 1 : 0;
      if (const size_t exponent = digits(length + 1 + sign); exponent > 0) {
        is_float = true;
        length += 1 + sign + exponent;
      }
    }
    const std::string_view text = rest().substr(0, length);
    if (!is_float && text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != text.npos)
      return fail(str("number ", text, " begins with 0"));
    if (rest().size() > length && (is_name_start(rest()[length])))
      return template_error(ErrorCode::kUnsupported, position_,
                            str("number ", rest().substr(0, length + 1), "..."));
    push(is_float ? Token::Kind::kFloat : Token::Kind::kInteger, std::string(text));
    advance(length);
    return {};
  }

  Status lex_string(char quote) {
    const Position begin = position_;
    std::string value;
    size_t length = 1;
    const std::string_view text = rest();
    while (length < text.size() && text[length] != quote) {
      if (text[length] == '\\') {
        MLXN_ASSIGN(const size_t used, unescape(text.substr(length), value));
        length += used;
      } else {
        value += text[length++];
      }
    }
    if (length >= text.size())
      return template_error(ErrorCode::kInvalidArgument, begin, "a string without end");
    tokens_.push_back({Token::Kind::kString, std::move(value), begin});
    advance(length + 1);
    return {};
  }

  // Python's escapes. Appends what one stands for and returns its length; an unknown one stands for
  // itself, with its backslash.
  Result<size_t> unescape(std::string_view text, std::string& value) const {
    constexpr std::string_view kNames = "\\'\"abfnrtv\n";
    constexpr std::string_view kBytes = "\\'\"\a\b\f\n\r\t\v";
    if (text.size() < 2) return fail("a string without end");
    const char name = text[1];
    if (const size_t place = kNames.find(name); place != kNames.npos) {
      if (place < kBytes.size()) value += kBytes[place];
      return size_t{2};
    }
    if (name >= '0' && name <= '7') {
      size_t end = 2;
      while (end < 4 && end < text.size() && text[end] >= '0' && text[end] <= '7') ++end;
      return append_code(text.substr(1, end - 1), 8, value, end);
    }
    const size_t hex = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
    if (hex > 0) {
      if (text.size() < 2 + hex) return fail("a string without end");
      return append_code(text.substr(2, hex), 16, value, 2 + hex);
    }
    if (name == 'N')
      return template_error(ErrorCode::kUnsupported, position_, "characters by name (\\N)");
    value += '\\';
    return size_t{1};
  }

  Result<size_t> append_code(std::string_view number, int base, std::string& value,
                             size_t used) const {
    uint32_t code = 0;
    const char* begin = number.data();
    const char* end = begin + number.size();
    const auto done = std::from_chars(begin, end, code, base);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (done.ec != std::errc() || done.ptr != end || code > 0x10FFFF || surrogate)
      return fail(str("'", number, "' names no character"));
    append_utf8(value, code);
    return used;
  }

  std::string source_;
  size_t at_ = 0;
  Position position_;
  bool at_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

Error template_error(ErrorCode code, Position at, std::string_view message) {
  return Error(code, str("template, line ", at.line, ", column ", at.column, ": ", message));
}

bool is_python_space(uint32_t code) {
  return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) || code == 0x85 ||
         code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

std::string_view strip_spaces(std::string_view text, bool at_start, bool at_end) {
  while (at_start && !text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (!step.valid || !is_python_space(step.code_point)) break;
    text.remove_prefix(step.size);
  }
  while (at_end && !text.empty()) {
    size_t start = text.size() - 1;  // of the last code point
    while (start > 0 && text.size() - start < 4 &&
           (static_cast<uint8_t>(text[start]) & 0xC0) == 0x80)
      --start;
    const Utf8Step step = utf8_step(text.substr(start));
    if (!step.valid || start + step.size != text.size() || !is_python_space(step.code_point)) break;
    text.remove_suffix(step.size);
  }
  return text;
}

Result<std::vector<Token>> lex_template(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace mlxn::text::detail
