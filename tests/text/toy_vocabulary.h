// A small byte-level vocabulary: all bytes, a few merges, special tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mlxn/io/metadata.h"
#include "mlxn/text/utf8.h"

namespace mlxn::text {

// How byte-level vocabularies spell a byte (GPT-2's table).
inline std::string spelled(std::string_view bytes) {
  std::string out;
  for (const char one : bytes) {
    const auto byte = static_cast<uint8_t>(one);
    const auto plain = [](uint32_t b) {
      return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    };
    uint32_t code = byte;
    if (!plain(byte)) {
      code = 0x100;
      for (uint32_t b = 0; b < byte; ++b) code += plain(b) ? 0 : 1;
    }
    append_utf8(out, code);
  }
  return out;
}

struct ToyVocabulary {
  std::vector<std::string> tokens;
  std::vector<int64_t> types;
  std::vector<std::string> merges;
  std::string pre = "gpt-2";

  // Ids 0 to 255 are the bytes.
  ToyVocabulary() {
    for (int byte = 0; byte < 256; ++byte) add(spelled(std::string(1, static_cast<char>(byte))), 1);
  }
  int32_t add(std::string text, int64_t type) {
    tokens.push_back(std::move(text));
    types.push_back(type);
    return static_cast<int32_t>(tokens.size() - 1);
  }
  int32_t merge(std::string_view left, std::string_view right) {
    merges.push_back(spelled(left) + " " + spelled(right));
    return add(spelled(left) + spelled(right), 1);
  }

  io::Metadata metadata() const {
    io::Metadata out;
    put(out, "tokenizer.ggml.model", io::MetaType::kString, std::string("gpt2"));
    put(out, "tokenizer.ggml.pre", io::MetaType::kString, pre);
    put(out, "tokenizer.ggml.tokens", io::MetaType::kArray,
        io::MetaArray{io::MetaType::kString, tokens});
    put(out, "tokenizer.ggml.token_type", io::MetaType::kArray,
        io::MetaArray{io::MetaType::kI32, types});
    put(out, "tokenizer.ggml.merges", io::MetaType::kArray,
        io::MetaArray{io::MetaType::kString, merges});
    return out;
  }
  template <class T>
  static void put(io::Metadata& metadata, std::string name, io::MetaType type, T value) {
    io::MetaValue entry{type, std::move(value)};
    static_cast<void>(metadata.add(std::move(name), std::move(entry)));
  }
};

}  // namespace mlxn::text
