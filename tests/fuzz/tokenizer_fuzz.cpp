// Text into tokens and back. The first byte chooses the pre-tokenizer and options, the second the
// way the vocabulary is damaged (mostly not at all).
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "mlxn/text/tokenizer/internal/pre_tokenizer.h"
#include "mlxn/text/tokenizer/tokenizer.h"
#include "tests/text/toy_vocabulary.h"

namespace {

using namespace mlxn;

text::ToyVocabulary vocabulary(std::string_view pre) {
  text::ToyVocabulary out;
  out.pre = pre;
  for (const auto& [left, right] : {std::pair<const char*, const char*>{"a", "b"},
                                    {"ab", "a"},
                                    {" ", "a"},
                                    {" ", " "},
                                    {"  ", "  "},
                                    {"\n", "\n"},
                                    {"1", "2"},
                                    {"\xC3", "\xA9"},
                                    {"\xE4", "\xB8"},
                                    {"'", "s"}})
    out.merge(left, right);
  out.add("<|end|>", 3);
  out.add("<|e", 4);
  return out;
}

const text::Tokenizer* tokenizer(size_t index) {
  static std::map<size_t, std::unique_ptr<text::Tokenizer>> made;
  const auto names = text::pre_tokenizer_names();
  index %= names.size();
  if (!made.count(index)) {
    auto metadata = vocabulary(names[index]).metadata();
    text::ToyVocabulary::put(metadata, "tokenizer.ggml.add_bos_token", io::MetaType::kBool, false);
    auto one = text::Tokenizer::create(metadata);
    made[index] = one ? std::move(one).value() : nullptr;
  }
  return made[index].get();
}

// Metadata out of the input: must be refused or work, never crash.
void hostile(std::string_view input) {
  text::ToyVocabulary toy = vocabulary("gpt-2");
  for (size_t at = 0; at < input.size(); at += 4) {
    const std::string_view part = input.substr(at, 4);
    const auto kind = static_cast<uint8_t>(part[0]) % 4;
    if (kind == 0) toy.add(std::string(part.substr(1)), static_cast<uint8_t>(part.back()) % 9);
    if (kind == 1) toy.merges.emplace_back(part.substr(1));
    if (kind == 2 && part.size() > 2) toy.merge(part.substr(1, 1), part.substr(2));
    if (kind == 3 && part.size() > 2) toy.types[static_cast<uint8_t>(part[1])] = part[2] % 8;
  }
  auto metadata = toy.metadata();
  text::ToyVocabulary::put(metadata, "tokenizer.ggml.eos_token_id", io::MetaType::kU32,
                           uint64_t{256} + input.size());
  const auto made = text::Tokenizer::create(metadata);
  if (!made) return;
  const auto ids = (*made)->encode(input);
  if (ids && !(*made)->decode(*ids)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[1] % 64 == 63) {
    hostile(input);
    return 0;
  }
  const text::Tokenizer* one = tokenizer(data[0]);
  if (!one) __builtin_trap();
  const auto ids = one->encode(input, {.parse_special = data[1] % 2 == 1, .strict = true});
  if (!ids) __builtin_trap();
  const auto back = one->decode(*ids);
  if (!back || *back != input) __builtin_trap();
  return 0;
}
