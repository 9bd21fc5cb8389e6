// The tokens of a model: texts, types and roles, checked when loaded.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/io/metadata.h"
#include "mlxn/text/tokenizer/tokenizer.h"

namespace mlxn::text {

class Vocabulary {
 public:
  // The bytes that a spelling in the metadata stands for; nothing: the spelling itself. Asked for
  // tokens that are not special.
  using Spelling = std::optional<std::string> (*)(std::string_view text, TokenType type);
  static Result<Vocabulary> load(const io::Metadata& metadata, Spelling spelling);
  // Moves keep the strings that views point into; a copy would not.
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  TokenType type(int32_t id) const { return types_[static_cast<size_t>(id)]; }
  std::string_view piece(int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  // As spelled in the metadata.
  std::optional<int32_t> find_spelled(std::string_view text) const;
  // By its bytes: tokens that stand for text, or those that are found as a whole.
  std::optional<int32_t> find_plain(std::string_view piece) const;
  std::optional<int32_t> find_special(std::string_view piece) const;
  // Tokens that are one byte; -1: there is none.
  const std::array<int32_t, 256>& bytes() const { return bytes_; }
  const SpecialTokens& special() const { return special_; }
  bool ends_text(int32_t id) const { return ends_text_[static_cast<size_t>(id)]; }

 private:
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  Vocabulary() = default;
  Status load_tokens(const io::Metadata& metadata, Spelling spelling);
  Status load_special(const io::Metadata& metadata);
  void find_ends();

  std::vector<std::string> pieces_;
  std::vector<TokenType> types_;
  std::vector<bool> ends_text_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> spelled_;
  std::unordered_map<std::string_view, int32_t> plain_;  // views into pieces_
  std::unordered_map<std::string_view, int32_t> special_pieces_;
  std::array<int32_t, 256> bytes_ = {};
  SpecialTokens special_;
};

// Whether tokens of this type are found in text as a whole, before any other step.
constexpr bool is_special(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined ||
         type == TokenType::kUnknown;
}

}  // namespace mlxn::text
