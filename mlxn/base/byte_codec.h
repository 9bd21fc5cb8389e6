// Simple binary fields, for files whose bytes are not to be trusted.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace mlxn {

// Fields one after the other: numbers as 64 bits, texts and blocks with their length in front.
class ByteWriter {
 public:
  void number(uint64_t value) { raw(&value, sizeof value); }
  void text(std::string_view value) {
    number(value.size());
    raw(value.data(), value.size());
  }
  void raw(const void* data, size_t size) {
    auto* bytes = static_cast<const uint8_t*>(data);
    out.insert(out.end(), bytes, bytes + size);
  }
  std::vector<uint8_t> out;
};

// Reads what ByteWriter wrote; `good` turns false at the first span that does not fit.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    const std::string_view bytes = take(sizeof value);
    if (good) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(take(number())); }
  std::string_view take(uint64_t size) {
    good = good && size <= rest_.size();
    if (!good) return {};
    const std::string_view result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }
  // A count of fields that take at least eight bytes each.
  uint64_t count() {
    const uint64_t value = number();
    good = good && value <= rest_.size() / 8;
    return good ? value : 0;
  }
  bool at_end() const { return rest_.empty(); }
  bool good = true;

 private:
  std::string_view rest_;
};

}  // namespace mlxn
