// Encodes and decodes random bytes with the vocabulary of a model: text_round_trip MODEL COUNT.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "mlxn/io/gguf.h"
#include "mlxn/text/tokenizer.h"
#include "mlxn/text/utf8.h"

namespace {

using namespace mlxn;

class Random {
 public:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }
  uint64_t below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_ = 88172645463325252u;
};

// Bytes, ASCII, or code points, of up to 64 parts.
std::string random_text(Random& random) {
  std::string text;
  const uint64_t kind = random.below(4);
  for (uint64_t i = random.below(64); i > 0; --i) {
    if (kind == 0) text += static_cast<char>(random.below(256));
    if (kind == 1) text += static_cast<char>(random.below(128));
    if (kind == 2) text::append_utf8(text, static_cast<uint32_t>(random.below(0xD800)));
    if (kind == 3) text += "ab 1\n\t'<|.\xC3\xA9\xE4\xB8\xAD"[random.below(15)];
  }
  return text;
}

// What the vocabulary can spell of a text.
std::string spellable(const text::Tokenizer& tokenizer, const std::string& text) {
  std::string out;
  for (const char byte : text) {
    if (tokenizer.find(std::string_view(&byte, 1))) out += byte;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: text_round_trip MODEL COUNT\n", 2;
  const auto file = io::GgufFile::open(argv[1]);
  if (!file) return std::cerr << file.error().to_string() << "\n", 1;
  const auto tokenizer = text::Tokenizer::create(file->metadata());
  if (!tokenizer) return std::cerr << tokenizer.error().to_string() << "\n", 1;
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  Random random;
  uint64_t exact = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string text = random_text(random);
    const std::string expected = spellable(**tokenizer, text);
    exact += expected == text ? 1 : 0;
    const auto ids =
        (*tokenizer)->encode(text, {.add_special = false, .parse_special = i % 2 == 0});
    const auto back = ids ? (*tokenizer)->decode(*ids) : Result<std::string>(ids.error());
    if (!back || *back != expected) return std::cerr << "text " << i << " does not come back\n", 1;
    const auto strict = (*tokenizer)->encode(text, {.add_special = false, .strict = true});
    if (strict.has_value() != (expected == text))
      return std::cerr << "text " << i << ": strict is wrong\n", 1;
  }
  std::cout << count << " texts came back, " << exact << " of them with every byte\n";
  return count == 0;
}
