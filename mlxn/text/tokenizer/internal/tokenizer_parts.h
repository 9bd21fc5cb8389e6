// What tokenizers of all kinds are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mlxn/text/tokenizer/tokenizer.h"
#include "mlxn/text/tokenizer/vocabulary.h"

namespace mlxn::text {

// Finds tokens that count as a whole, by a tree over their bytes.
class SpecialFinder {
 public:
  explicit SpecialFinder(const Vocabulary& vocabulary);

  struct Match {
    size_t offset = 0;  // the size of the text: no match
    size_t size = 0;
    int32_t id = -1;
  };
  // The first match at or after `from`; of those that begin there the longest. Control tokens only
  // count when asked for.
  Match find(std::string_view text, size_t from, bool with_control) const;

 private:
  struct Node {
    std::vector<std::pair<char, uint32_t>> children;  // by byte
    int32_t any_id = -1;                              // ends here
    int32_t user_id = -1;                             // ends here and always counts
  };
  const Node* child(const Node& node, char byte) const;
  void insert(std::string_view text, int32_t id, bool always);

  std::vector<Node> nodes_;
};

struct Tokenizer::Parts {
  Parts(Vocabulary vocabulary_in, std::string kind_in, std::string pre_tokenizer_in)
      : vocabulary(std::move(vocabulary_in)),
        finder(vocabulary),
        kind(std::move(kind_in)),
        pre_tokenizer(std::move(pre_tokenizer_in)) {}

  Vocabulary vocabulary;
  SpecialFinder finder;
  std::string kind;
  std::string pre_tokenizer;
  bool adds_bos = false;
  bool adds_eos = false;
};

// One file in kinds/ defines one entry, named tokenizer_<file>; the build finds it.
struct TokenizerEntry {
  std::string_view name;  // as in tokenizer.ggml.model
  Result<std::unique_ptr<Tokenizer>> (*create)(const io::Metadata& metadata);
};
std::span<const TokenizerEntry* const> tokenizers();

}  // namespace mlxn::text
