// Numbers and texts into bytes: the other side of ByteReader.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "mlxn/base/byte_codec.h"

namespace mlxn::io {

class ByteWriter {
 public:
  // A little-endian number of the value's own type.
  template <class T>
  void number(T value) {
    writer_.number<T>(value);
  }
  // A 64-bit length and the text.
  void counted_text(std::string_view text) { writer_.text(text); }
  void append(std::span<const std::byte> bytes) { writer_.raw(bytes.data(), bytes.size()); }
  void zeros(uint64_t count) { writer_.zeros(count); }

  uint64_t size() const { return writer_.out.size(); }
  std::vector<std::byte> take() { return std::move(writer_.out); }

 private:
  BasicByteWriter<std::byte> writer_;
};

}  // namespace mlxn::io
