// Encodes and decodes random bytes with the vocabulary of a model, as it is and with the bytes that
// it lacks: text_round_trip MODEL COUNT.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "mlxn/io/gguf.h"
#include "mlxn/text/tokenizer/tokenizer.h"
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

// The same vocabulary with a token for every byte. In the alphabet of byte-level tokens a byte that
// can be printed stands for itself, the others follow from 256 on.
io::Metadata with_all_bytes(const io::Metadata& metadata, const text::Tokenizer& tokenizer) {
  std::vector<std::string> added;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printed = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    const uint32_t letter = printed ? byte : next++;
    const char value = static_cast<char>(byte);
    if (!tokenizer.find(std::string_view(&value, 1)))
      text::append_utf8(added.emplace_back(), letter);
  }
  io::Metadata result;
  for (auto [name, value] : metadata.entries()) {
    if (auto* array = std::get_if<io::MetaArray>(&value.data)) {
      if (name == "tokenizer.ggml.tokens") {
        auto& tokens = std::get<std::vector<std::string>>(array->elements);
        tokens.insert(tokens.end(), added.begin(), added.end());
      }
      if (name == "tokenizer.ggml.token_type") {
        auto& types = std::get<std::vector<int64_t>>(array->elements);
        types.insert(types.end(), added.size(), static_cast<int64_t>(text::TokenType::kNormal));
      }
    }
    if (!result.add(name, std::move(value))) std::abort();
  }
  return result;
}

// True when every text comes back but for bytes that the vocabulary cannot spell.
bool check(const text::Tokenizer& tokenizer, uint64_t count) {
  Random random;
  uint64_t exact = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string text = random_text(random);
    const std::string expected = spellable(tokenizer, text);
    exact += expected == text ? 1 : 0;
    const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = i % 2 == 0});
    const auto back = ids ? tokenizer.decode(*ids) : Result<std::string>(ids.error());
    if (!back || *back != expected)
      return std::cerr << "text " << i << " does not come back\n", false;
    const auto strict = tokenizer.encode(text, {.add_special = false, .strict = true});
    if (strict.has_value() != (expected == text))
      return std::cerr << "text " << i << ": strict is wrong\n", false;
  }
  std::cout << count << " texts came back, " << exact << " of them with every byte\n";
  return count != 0 && (exact == count || !tokenizer.has_all_bytes());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: text_round_trip MODEL COUNT\n", 2;
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const auto file = io::GgufFile::open(argv[1]);
  if (!file) return std::cerr << file.error().to_string() << "\n", 1;
  const auto tokenizer = text::Tokenizer::create(file->metadata());
  if (!tokenizer) return std::cerr << tokenizer.error().to_string() << "\n", 1;
  const auto whole = text::Tokenizer::create(with_all_bytes(file->metadata(), **tokenizer));
  if (!whole) return std::cerr << whole.error().to_string() << "\n", 1;
  if (!(*whole)->has_all_bytes()) return std::cerr << "bytes are still missing\n", 1;
  return check(**tokenizer, count) && check(**whole, count) ? 0 : 1;
}
