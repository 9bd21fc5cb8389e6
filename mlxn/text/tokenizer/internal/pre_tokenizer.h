// Cuts text into the pieces that byte-pair merging may not cross.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::text {

// What models with one pre-tokenizer have in common.
struct PreTokenizerInfo {
  std::string_view names;  // as in tokenizer.ggml.pre, separated by spaces
  // Applied one after the other to the pieces of the one before: every match is a piece, and so is
  // what lies between matches. \s means Unicode's White_Space.
  std::vector<std::string_view> patterns;
  bool whole_pieces = false;  // a piece that is a token as it stands is not merged from its bytes
  bool adds_bos = false;      // unless the metadata says otherwise
};

std::vector<std::string_view> pre_tokenizer_names();

// Immutable; thread-safe.
class PreTokenizer {
 public:
  // kUnsupported for a name that is not known.
  static Result<PreTokenizer> create(std::string_view name);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // The pieces in order; together they are the text. Each run of bytes that is not UTF-8 is a
  // piece, and patterns see the text as ending there.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

  const PreTokenizerInfo& info() const { return *info_; }

 private:
  struct Patterns;
  PreTokenizer(const PreTokenizerInfo* info, std::unique_ptr<Patterns> patterns);
  const PreTokenizerInfo* info_;
  std::unique_ptr<Patterns> patterns_;
};

}  // namespace mlxn::text
