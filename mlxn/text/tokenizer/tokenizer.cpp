#include "mlxn/text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "mlxn/base/strings.h"
#include "mlxn/text/tokenizer/internal/tokenizer_parts.h"

namespace mlxn::text {
namespace {

// Positions in a text and in the lists made from it fit into 32 bits.
constexpr size_t kMaxTextBytes = size_t{1} << 30;

}  // namespace

SpecialFinder::SpecialFinder(const Vocabulary& vocabulary) : nodes_(1) {
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (is_special(type) && !vocabulary.piece(id).empty())
      insert(vocabulary.piece(id), id, type == TokenType::kUserDefined);
  }
}

void SpecialFinder::insert(std::string_view text, int32_t id, bool always) {
  uint32_t at = 0;
  for (const char byte : text) {
    auto& children = nodes_[at].children;
    const auto place =
        std::lower_bound(children.begin(), children.end(), byte,
                         [](const auto& pair, char key) { return pair.first < key; });
    if (place != children.end() && place->first == byte) {
      at = place->second;
      continue;
    }
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    children.insert(place, {byte, fresh});
    nodes_.emplace_back();  // ends the life of `children` and `place`
    at = fresh;
  }
  nodes_[at].any_id = id;
  if (always) nodes_[at].user_id = id;
}

const SpecialFinder::Node* SpecialFinder::child(const Node& node, char byte) const {
  const auto place = std::lower_bound(node.children.begin(), node.children.end(), byte,
                                      [](const auto& pair, char key) { return pair.first < key; });
  return place != node.children.end() && place->first == byte ? &nodes_[place->second] : nullptr;
}

SpecialFinder::Match SpecialFinder::find(std::string_view text, size_t from,
                                         bool with_control) const {
  for (size_t start = from; start < text.size(); ++start) {
    Match best;
    const Node* node = &nodes_[0];
    for (size_t at = start; at < text.size(); ++at) {
      node = child(*node, text[at]);
      if (!node) break;
      const int32_t id = with_control ? node->any_id : node->user_id;
      if (id >= 0) best = {start, at + 1 - start, id};
    }
    if (best.size > 0) return best;
  }
  return {text.size(), 0, -1};
}

namespace {

void erase_all(std::string& text, std::string_view part) {
  if (part.empty()) return;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos;) text.erase(at, part.size());
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(const io::Metadata& metadata) {
  MLXN_ASSIGN(const std::string name, metadata.text("tokenizer.ggml.model"));
  std::string known;
  for (const TokenizerEntry* entry : tokenizers()) {
    if (entry->name == name) return entry->create(metadata);
    known += str(known.empty() ? "'" : ", '", entry->name, "'");
  }
  return Error(ErrorCode::kUnsupported,
               str("tokenizer of kind '", name, "' is not known; known are ", known));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes)
    return Error(ErrorCode::kOutOfRange,
                 str("text of ", text.size(), " bytes, expected at most ", kMaxTextBytes));
  const SpecialTokens& roles = special();
  std::vector<int32_t> ids;
  if (options.add_special && parts_->adds_bos) ids.push_back(*roles.bos);
  std::string plain;  // text since the last special token
  for (size_t at = 0; at < text.size();) {
    const auto match = parts_->finder.find(text, at, options.parse_special);
    plain += text.substr(at, match.offset - at);
    if (match.size > 0 && !options.mark.empty() && plain.ends_with(options.mark)) {
      plain += text[match.offset];
      at = match.offset + 1;
      continue;
    }
    erase_all(plain, options.mark);
    if (!plain.empty()) MLXN_TRY(encode_plain(plain, options.strict, ids));
    plain.clear();
    if (match.size > 0) ids.push_back(match.id);
    at = match.offset + match.size;
  }
  erase_all(plain, options.mark);
  if (!plain.empty()) MLXN_TRY(encode_plain(plain, options.strict, ids));
  if (options.add_special && parts_->adds_eos) ids.push_back(*roles.eos);
  return ids;
}

std::string Tokenizer::mark_control(std::string_view text, std::string_view mark) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const auto match = parts_->finder.find(text, at, /*with_control=*/true);
    out += text.substr(at, match.offset - at);
    at = match.offset + match.size;
    if (match.size == 0) break;
    const bool always = type(match.id) == TokenType::kUserDefined;
    if (!always) {  // another one may begin inside
      out += mark;
      at = match.offset + 1;
    }
    out += text.substr(match.offset, at - match.offset);
  }
  return out;
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids,
                                      const DecodeOptions& options) const {
  std::string text;
  bool begins = !options.continues;
  for (size_t i = 0; i < ids.size();) {
    if (!contains(ids[i]))
      return Error(ErrorCode::kOutOfRange,
                   str("token ", i, " is ", ids[i], ", expected 0 to ", vocabulary_size() - 1));
    const TokenType first = type(ids[i]);
    if (is_special(first)) {
      const bool shown = options.show_special || first == TokenType::kUserDefined;
      if (shown) text += piece(ids[i]);
      begins = begins && first != TokenType::kUserDefined;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < ids.size() && contains(ids[end]) && !is_special(type(ids[end]))) ++end;
    decode_plain(ids.subspan(i, end - i), begins, text);
    begins = false;
    i = end;
  }
  return text;
}

std::string_view Tokenizer::piece(int32_t id) const {
  return contains(id) ? parts_->vocabulary.piece(id) : std::string_view();
}

std::optional<int32_t> Tokenizer::find(std::string_view piece) const {
  if (const auto id = parts_->vocabulary.find_special(piece)) return id;
  return parts_->vocabulary.find_plain(piece);
}

int32_t Tokenizer::vocabulary_size() const {
  return parts_->vocabulary.size();
}
TokenType Tokenizer::type(int32_t id) const {
  return contains(id) ? parts_->vocabulary.type(id) : TokenType::kUndefined;
}
const SpecialTokens& Tokenizer::special() const {
  return parts_->vocabulary.special();
}
bool Tokenizer::adds_bos() const {
  return parts_->adds_bos;
}
bool Tokenizer::adds_eos() const {
  return parts_->adds_eos;
}
bool Tokenizer::ends_text(int32_t id) const {
  return contains(id) && parts_->vocabulary.ends_text(id);
}
bool Tokenizer::has_all_bytes() const {
  const auto& bytes = parts_->vocabulary.bytes();
  return std::find(bytes.begin(), bytes.end(), -1) == bytes.end();
}
std::string_view Tokenizer::kind() const {
  return parts_->kind;
}
std::string_view Tokenizer::pre_tokenizer() const {
  return parts_->pre_tokenizer;
}

}  // namespace mlxn::text
