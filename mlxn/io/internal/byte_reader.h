// Numbers and texts from bytes that nobody vouches for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "mlxn/base/result.h"
#include "mlxn/base/strings.h"

namespace mlxn::io {

// A place in a byte sequence that moves on with each read. Reading past the end fails with
// kCorruptData and moves nothing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }

  // A little-endian number.
  template <class T>
  Result<T> number() {
    static_assert(std::endian::native == std::endian::little);
    MLXN_TRY(need(sizeof(T)));
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // The next `size` bytes, borrowed.
  Result<std::string_view> text(uint64_t size) {
    MLXN_TRY(need(size));
    const auto* start = reinterpret_cast<const char*>(bytes_.data()) + position_;
    position_ += size;
    return std::string_view(start, size);
  }

 private:
  Status need(uint64_t size) const {
    if (size <= left()) return {};
    return Error(ErrorCode::kCorruptData, str("the file ends too early: ", size, " bytes at ",
                                              position_, " of ", bytes_.size()));
  }

  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
};

}  // namespace mlxn::io
