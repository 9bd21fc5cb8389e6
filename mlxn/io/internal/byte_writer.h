// Numbers and texts into bytes: the other side of ByteReader.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mlxn::io {

class ByteWriter {
 public:
  // A little-endian number.
  template <class T>
  void number(T value) {
    static_assert(std::endian::native == std::endian::little);
    append(std::as_bytes(std::span(&value, 1)));
  }
  // A 64-bit length and the text.
  void counted_text(std::string_view text) {
    number<uint64_t>(text.size());
    append(std::as_bytes(std::span(text)));
  }
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void zeros(uint64_t count) { bytes_.resize(bytes_.size() + count); }

  uint64_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace mlxn::io
