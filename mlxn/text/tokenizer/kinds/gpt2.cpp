// Byte-level byte-pair encoding: pieces of text start as bytes, and the pair of neighbours with the
// lowest rank is joined until no pair has one.
#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/text/tokenizer/internal/pre_tokenizer.h"
#include "mlxn/text/tokenizer/internal/tokenizer_parts.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text {
namespace {

bool stands_for_itself(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

// The byte of each code point below 0x144; -1: none.
std::array<int16_t, 0x144> make_byte_of() {
  std::array<int16_t, 0x144> table;
  table.fill(-1);
  size_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte)
    table[stands_for_itself(byte) ? byte : next++] = static_cast<int16_t>(byte);
  return table;
}

// Byte-level vocabularies spell each byte as one printable code point (GPT-2's table: printable
// Latin-1 stands for itself, the others follow from U+0100 on). This is the way back; nothing when
// a code point stands for no byte or the text is not UTF-8.
std::optional<std::string> decode_byte_level(std::string_view text, TokenType) {
  static const std::array<int16_t, 0x144> kByteOf = make_byte_of();
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (!step.valid || step.code_point >= kByteOf.size() || kByteOf[step.code_point] < 0)
      return std::nullopt;
    out += static_cast<char>(kByteOf[step.code_point]);
    text.remove_prefix(step.size);
  }
  return out;
}

struct Merge {
  uint32_t rank;
  int32_t joined;
};

struct PairHash {
  size_t operator()(uint64_t key) const {
    key = (key ^ (key >> 32)) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(key ^ (key >> 29));
  }
};

class Merges {
 public:
  static Result<Merges> load(const io::Metadata& metadata, const Vocabulary& vocabulary);
  const Merge* find(int32_t left, int32_t right) const {
    const auto found = table_.find(key(left, right));
    return found == table_.end() ? nullptr : &found->second;
  }

 private:
  static uint64_t key(int32_t left, int32_t right) {
    return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
  }
  std::unordered_map<uint64_t, Merge, PairHash> table_;
};

Result<Merges> Merges::load(const io::Metadata& metadata, const Vocabulary& vocabulary) {
  MLXN_ASSIGN(const std::span<const std::string> texts, metadata.texts("tokenizer.ggml.merges"));
  if (texts.size() >= UINT32_MAX)
    return Error(ErrorCode::kCorruptData,
                 str(texts.size(), " merges, expected less than 2^32 - 1"));
  Merges out;
  out.table_.reserve(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    // The first half is not empty, so a space at the start belongs to it.
    const std::string_view text = texts[i];
    const size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size())
      return Error(ErrorCode::kCorruptData,
                   str("merge ", i, " is '", text, "', expected two tokens and a space between"));
    const std::string_view halves[] = {text.substr(0, space), text.substr(space + 1)};
    std::string joined(halves[0]);
    joined += halves[1];
    int32_t ids[3];
    int32_t* id = ids;
    for (const std::string_view part : {halves[0], halves[1], std::string_view(joined)}) {
      const std::optional<int32_t> found = vocabulary.find_spelled(part);
      if (!found)
        return Error(ErrorCode::kCorruptData, str("merge ", i, " is '", text, "', but '", part,
                                                  "' is not in the vocabulary"));
      *id++ = *found;
    }
    out.table_.emplace(key(ids[0], ids[1]), Merge{static_cast<uint32_t>(i), ids[2]});
  }
  return out;
}

// Joins the symbols of one piece. A queue holds the pairs that could be joined; an entry whose
// symbols have changed since is stale and dropped. n symbols take O(n log n) steps.
class Merger {
 public:
  explicit Merger(const Merges& merges) : merges_(merges) {}

  void clear() { symbols_.clear(); }
  void push(int32_t id) {
    const auto index = static_cast<uint32_t>(symbols_.size());
    symbols_.push_back({id, index == 0 ? kNone : index - 1, kNone});
    if (index > 0) symbols_[index - 1].next = index;
  }
  void run(std::vector<int32_t>& ids) {
    if (symbols_.empty()) return;
    for (uint32_t i = 0; i + 1 < symbols_.size(); ++i) offer(i);
    while (!queue_.empty()) {
      const Pair pair = queue_.top();
      queue_.pop();
      Symbol& left = symbols_[pair.position];
      if (left.id != pair.left || left.next == kNone || symbols_[left.next].id != pair.right)
        continue;
      join(pair);
    }
    for (uint32_t i = 0; i != kNone; i = symbols_[i].next) ids.push_back(symbols_[i].id);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Symbol {
    int32_t id;  // -1: joined into the one before
    uint32_t previous;
    uint32_t next;
  };
  struct Pair {
    uint32_t rank;
    uint32_t position;
    int32_t left;
    int32_t right;
    int32_t joined;
    bool operator<(const Pair& other) const {  // the queue gives the greatest first
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };

  void offer(uint32_t position) {
    const Symbol& left = symbols_[position];
    const int32_t right = symbols_[left.next].id;
    if (const Merge* merge = merges_.find(left.id, right))
      queue_.push({merge->rank, position, left.id, right, merge->joined});
  }
  void join(const Pair& pair) {
    Symbol& left = symbols_[pair.position];
    Symbol& right = symbols_[left.next];
    left.id = pair.joined;
    right.id = -1;
    left.next = right.next;
    if (left.next != kNone) {
      symbols_[left.next].previous = pair.position;
      offer(pair.position);
    }
    if (left.previous != kNone) offer(left.previous);
  }

  const Merges& merges_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> queue_;
};

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::unique_ptr<Parts> parts, Merges merges, PreTokenizer pre_tokenizer)
      : Tokenizer(std::move(parts)),
        merges_(std::move(merges)),
        pre_tokenizer_(std::move(pre_tokenizer)) {}

  static Result<std::unique_ptr<Tokenizer>> create(const io::Metadata& metadata);

 protected:
  Status encode_plain(std::string_view text, bool strict,
                      std::vector<int32_t>& ids) const override {
    MLXN_ASSIGN(const std::vector<std::string_view> pieces, pre_tokenizer_.split(text));
    const Vocabulary& vocabulary = parts().vocabulary;
    Merger merger(merges_);
    for (std::string_view piece : pieces) {
      if (pre_tokenizer_.info().whole_pieces) {
        if (const auto id = vocabulary.find_plain(piece)) {
          ids.push_back(*id);
          continue;
        }
      }
      merger.clear();
      for (const char& byte : piece) {
        const int32_t id = vocabulary.bytes()[static_cast<uint8_t>(byte)];
        if (id >= 0) {
          merger.push(id);
        } else if (strict) {
          return Error(ErrorCode::kInvalidArgument,
                       str("byte ", static_cast<int>(static_cast<uint8_t>(byte)), " at offset ",
                           &byte - text.data(), " has no token in this vocabulary"));
        }
      }
      merger.run(ids);
    }
    return {};
  }

  void decode_plain(std::span<const int32_t> ids, bool, std::string& text) const override {
    for (const int32_t id : ids) text += parts().vocabulary.piece(id);
  }

 private:
  Merges merges_;
  PreTokenizer pre_tokenizer_;
};

Result<std::unique_ptr<Tokenizer>> BpeTokenizer::create(const io::Metadata& metadata) {
  MLXN_ASSIGN(std::string name, metadata.text("tokenizer.ggml.pre", "default"));
  if (!metadata.has("tokenizer.ggml.pre"))
    log(LogLevel::kWarning, "the model names no pre-tokenizer; its answers may suffer");
  MLXN_ASSIGN(PreTokenizer pre_tokenizer, PreTokenizer::create(name));
  MLXN_ASSIGN(Vocabulary vocabulary, Vocabulary::load(metadata, decode_byte_level));
  MLXN_ASSIGN(Merges merges, Merges::load(metadata, vocabulary));
  auto parts = std::make_unique<Parts>(std::move(vocabulary), "gpt2", std::move(name));
  MLXN_ASSIGN(parts->adds_bos,
              metadata.flag("tokenizer.ggml.add_bos_token", pre_tokenizer.info().adds_bos));
  MLXN_ASSIGN(parts->adds_eos, metadata.flag("tokenizer.ggml.add_eos_token", false));
  const SpecialTokens& roles = parts->vocabulary.special();
  if ((parts->adds_bos && !roles.bos) || (parts->adds_eos && !roles.eos))
    return Error(ErrorCode::kCorruptData,
                 str("texts should ", parts->adds_bos && !roles.bos ? "begin" : "end",
                     " with a token, but the metadata names none"));
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(
      std::move(parts), std::move(merges), std::move(pre_tokenizer)));
}

}  // namespace

extern const TokenizerEntry tokenizer_gpt2;
const TokenizerEntry tokenizer_gpt2 = {"gpt2", BpeTokenizer::create};

}  // namespace mlxn::text
