// Simple binary fields, for files whose bytes are not to be trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mlxn {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

// Fields one after the other: numbers as they are, texts and blocks with a 64-bit length in front.
template <class Byte>
class BasicByteWriter {
 public:
  template <class T = uint64_t>
    requires std::is_arithmetic_v<T>
  void number(std::type_identity_t<T> value) {
    raw(&value, sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    raw(value.data(), value.size());
  }
  void raw(const void* data, size_t size) {
    auto* bytes = static_cast<const Byte*>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
  void zeros(uint64_t count) { out.resize(out.size() + count); }

  std::vector<Byte> out;
};
using ByteWriter = BasicByteWriter<uint8_t>;

// Reads what a writer wrote; `good` turns false at the first span that does not fit, and from then
// on all is empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T = uint64_t>
    requires std::is_arithmetic_v<T>
  T number() {
    T value = 0;
    const std::string_view bytes = take(sizeof value);
    if (good) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  std::string_view take(uint64_t size) {
    good = good && size <= left();
    if (!good) return {};
    return bytes_.substr(std::exchange(position_, position_ + size), size);
  }
  // A count of fields that take at least `each` bytes.
  uint64_t count(uint64_t each = 8) {
    const uint64_t value = number();
    good = good && value <= left() / each;
    return good ? value : 0;
  }
  uint64_t position() const { return position_; }
  uint64_t size() const { return bytes_.size(); }
  uint64_t left() const { return bytes_.size() - position_; }
  bool at_end() const { return left() == 0; }
  bool good = true;

 private:
  std::string_view bytes_;
  uint64_t position_ = 0;
};

}  // namespace mlxn
