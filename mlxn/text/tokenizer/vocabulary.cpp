#include "mlxn/text/tokenizer/vocabulary.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "mlxn/base/strings.h"

namespace mlxn::text {
namespace {

// Found at every place of a text, so their length bounds the work for each byte.
constexpr size_t kMaxSpecialBytes = 512;

// What a message shows of a text from a file.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 40;
  return str("'", text.substr(0, kMost), text.size() > kMost ? "...'" : "'");
}

Result<std::optional<int32_t>> role(const io::Metadata& metadata, std::string_view name,
                                    int32_t size) {
  if (!metadata.has(name)) return std::optional<int32_t>();
  MLXN_ASSIGN(const uint64_t id, metadata.unsigned_integer(name));
  if (id >= static_cast<uint64_t>(size))
    return Error(ErrorCode::kCorruptData,
                 str("metadata '", name, "' is ", id, ", expected less than ", size));
  return std::optional<int32_t>(static_cast<int32_t>(id));
}

Result<std::vector<TokenType>> load_types(const io::Metadata& metadata, size_t tokens) {
  constexpr std::string_view kName = "tokenizer.ggml.token_type";
  if (!metadata.has(kName)) return std::vector<TokenType>(tokens, TokenType::kNormal);
  MLXN_ASSIGN(const std::vector<int64_t> numbers, metadata.integers(kName));
  if (numbers.size() != tokens)
    return Error(ErrorCode::kCorruptData,
                 str("metadata '", kName, "' has ", numbers.size(),
                     " values, expected one for each of ", tokens, " tokens"));
  std::vector<TokenType> types;
  types.reserve(tokens);
  for (size_t i = 0; i < tokens; ++i) {
    if (numbers[i] < 0 || numbers[i] > static_cast<int64_t>(TokenType::kByte))
      return Error(ErrorCode::kCorruptData,
                   str("type of token ", i, " is ", numbers[i], ", expected 0 to 6"));
    types.push_back(static_cast<TokenType>(numbers[i]));
  }
  return types;
}

}  // namespace

Result<Vocabulary> Vocabulary::load(const io::Metadata& metadata, Spelling spelling) {
  Vocabulary out;
  MLXN_TRY(out.load_tokens(metadata, spelling));
  MLXN_TRY(out.load_special(metadata));
  out.find_ends();
  return out;
}

Status Vocabulary::load_tokens(const io::Metadata& metadata, Spelling spelling) {
  MLXN_ASSIGN(const std::span<const std::string> texts, metadata.texts("tokenizer.ggml.tokens"));
  if (texts.empty() || texts.size() > size_t{std::numeric_limits<int32_t>::max()})
    return Error(ErrorCode::kCorruptData,
                 str("metadata 'tokenizer.ggml.tokens' has ", texts.size(),
                     " tokens, expected 1 to ", std::numeric_limits<int32_t>::max()));
  MLXN_ASSIGN(types_, load_types(metadata, texts.size()));
  pieces_.reserve(texts.size());  // views into it stay valid
  spelled_.reserve(texts.size());
  plain_.reserve(texts.size());
  bytes_.fill(-1);
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const bool special = is_special(types_[i]);
    if (special && texts[i].size() > kMaxSpecialBytes)
      return Error(ErrorCode::kCorruptData, str("special token ", i, " has ", texts[i].size(),
                                                " bytes, expected at most ", kMaxSpecialBytes));
    std::optional<std::string> bytes;
    if (!special) bytes = spelling(texts[i], types_[i]);
    pieces_.push_back(bytes ? std::move(*bytes) : std::string(texts[i]));
    if (texts[i].empty()) continue;  // a gap in the numbering: no text leads to it
    const auto [same, fresh] = spelled_.emplace(texts[i], id);
    if (!fresh)
      return Error(ErrorCode::kCorruptData, str("tokens ", same->second, " and ", i, " are both ",
                                                shown(texts[i]), ", expected different texts"));
    (special ? special_pieces_ : plain_).emplace(pieces_.back(), id);
    if (!special && pieces_.back().size() == 1)
      bytes_[static_cast<uint8_t>(pieces_.back()[0])] = id;
  }
  return {};
}

Status Vocabulary::load_special(const io::Metadata& metadata) {
  const std::pair<std::string_view, std::optional<int32_t> SpecialTokens::*> kRoles[] = {
      {"bos", &SpecialTokens::bos},         {"eos", &SpecialTokens::eos},
      {"eot", &SpecialTokens::eot},         {"eom", &SpecialTokens::eom},
      {"unknown", &SpecialTokens::unknown}, {"seperator", &SpecialTokens::separator},
      {"padding", &SpecialTokens::padding}, {"mask", &SpecialTokens::mask},
  };
  for (const auto& [name, member] : kRoles) {
    MLXN_ASSIGN(special_.*member,
                role(metadata, str("tokenizer.ggml.", name, "_token_id"), size()));
  }
  return {};
}

// Files name the token that ends a text, not always those that end a turn; these are known by their
// texts. Tokens of plain text do not count: code may well hold "</s>".
void Vocabulary::find_ends() {
  // In two literals: "e" would count as a hexadecimal digit.
  constexpr std::string_view kDeepseekEnd =
      "<\xEF\xBD\x9C"
      "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>";
  constexpr std::string_view kTurnEnds[] = {
      "<|eot_id|>", "<|im_end|>",         "<|end|>",         "<end_of_turn>",
      "<|eot|>",    "<end_of_utterance>", "<EOT>",           "[EOT]",
      "<turn|>",    "<|endoftext|>",      "<|end_of_text|>", kDeepseekEnd,
  };
  constexpr std::string_view kOtherEnds[] = {"<|eom_id|>", "<|return|>", "<|call|>",  "</s>",
                                             "<eos>",      "[EOS]",      "<|flush|>", "<|calls|>"};
  ends_text_.assign(pieces_.size(), false);
  for (std::string_view text : kTurnEnds) {
    const std::optional<int32_t> id = find_special(text);
    if (!id) continue;
    ends_text_[static_cast<size_t>(*id)] = true;
    if (!special_.eot) special_.eot = id;
  }
  for (std::string_view text : kOtherEnds) {
    if (const auto id = find_special(text)) ends_text_[static_cast<size_t>(*id)] = true;
  }
  if (!special_.eom) special_.eom = find_special("<|eom_id|>");
  for (const auto& id : {special_.eos, special_.eot, special_.eom}) {
    if (id) ends_text_[static_cast<size_t>(*id)] = true;
  }
}

namespace {
template <class Map>
std::optional<int32_t> lookup(const Map& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional<int32_t>(found->second);
}
}  // namespace

std::optional<int32_t> Vocabulary::find_spelled(std::string_view text) const {
  return lookup(spelled_, text);
}
std::optional<int32_t> Vocabulary::find_plain(std::string_view piece) const {
  return lookup(plain_, piece);
}
std::optional<int32_t> Vocabulary::find_special(std::string_view piece) const {
  return lookup(special_pieces_, piece);
}

}  // namespace mlxn::text
