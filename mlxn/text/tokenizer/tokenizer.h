// Text to token ids and back, as a model file's metadata describes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/io/metadata.h"

namespace mlxn::text {

// With the numbers of tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  kUndefined = 0,
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      // found in text only when asked for, not shown in answers
  kUserDefined = 4,  // found in text always
  kUnused = 5,
  kByte = 6,
};

// Tokens with a role; a model has some of them.
struct SpecialTokens {
  std::optional<int32_t> bos;  // begins a text
  std::optional<int32_t> eos;  // ends a text
  std::optional<int32_t> eot;  // ends a turn of a chat
  std::optional<int32_t> eom;  // ends a message that expects a tool's answer
  std::optional<int32_t> unknown;
  std::optional<int32_t> separator;
  std::optional<int32_t> padding;
  std::optional<int32_t> mask;
};

struct EncodeOptions {
  bool add_special = true;     // begin and end tokens, if the model wants them
  bool parse_special = false;  // control tokens spelled in the text become these tokens
  // A byte that the vocabulary has no token for (many lack bytes that valid UTF-8 does not use) is
  // left out, as in the tokenizers the models were trained with; true: it is an error.
  bool strict = false;
  // Not empty: a control token right behind this mark is text (see mark_control), and the mark
  // itself is taken out.
  std::string_view mark = {};
};

struct DecodeOptions {
  bool show_special = true;  // false: control tokens give no text
  bool continues = false;    // other tokens of the same text came before
};

// decode(encode(text)) gives the bytes of text again, valid UTF-8 or not, as long as the vocabulary
// has a token for every byte (has_all_bytes(); else use strict to be told). Bytes that are not
// valid UTF-8 are never joined with their neighbours into one token. Immutable; thread-safe.
class Tokenizer {
 public:
  // Reads tokenizer.ggml.*. kUnsupported names a kind or pre-tokenizer that is not known here;
  // kCorruptData says what is wrong with the metadata.
  static Result<std::unique_ptr<Tokenizer>> create(const io::Metadata& metadata);
  virtual ~Tokenizer();

  Result<std::vector<int32_t>> encode(std::string_view text, const EncodeOptions& options) const;
  Result<std::vector<int32_t>> encode(std::string_view text) const { return encode(text, {}); }

  // The text with `mark` in front of every control token that it spells, for texts that become part
  // of one in which control tokens count.
  std::string mark_control(std::string_view text, std::string_view mark) const;

  // Bytes; they may end within a code point (utf8.h). kOutOfRange for an id outside the vocabulary.
  Result<std::string> decode(std::span<const int32_t> ids, const DecodeOptions& options) const;
  Result<std::string> decode(std::span<const int32_t> ids) const { return decode(ids, {}); }

  // The bytes of one token; empty for an id outside the vocabulary. Lives as long as the tokenizer.
  std::string_view piece(int32_t id) const;
  // The token of exactly these bytes, control tokens included.
  std::optional<int32_t> find(std::string_view piece) const;

  int32_t vocabulary_size() const;
  bool contains(int32_t id) const { return id >= 0 && id < vocabulary_size(); }
  TokenType type(int32_t id) const;  // kUndefined for an id outside the vocabulary
  const SpecialTokens& special() const;
  bool adds_bos() const;
  bool adds_eos() const;
  // Whether generation is over at this token: eos, eot, eom, and others known to end an answer.
  bool ends_text(int32_t id) const;
  bool has_all_bytes() const;

  std::string_view kind() const;           // tokenizer.ggml.model: "gpt2"
  std::string_view pre_tokenizer() const;  // tokenizer.ggml.pre: "llama-bpe", ...

 protected:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  const Parts& parts() const { return *parts_; }
  // What a kind adds. Appends the tokens of text, which holds no special tokens.
  virtual Status encode_plain(std::string_view text, bool strict,
                              std::vector<int32_t>& ids) const = 0;
  // Appends the bytes of tokens, none of which is special. `begins`: no text came before them.
  virtual void decode_plain(std::span<const int32_t> ids, bool begins, std::string& text) const = 0;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace mlxn::text
