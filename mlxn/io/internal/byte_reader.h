// Numbers and texts from bytes that nobody vouches for.
#pragma once

#include <span>
#include <string_view>

#include "mlxn/base/byte_codec.h"
#include "mlxn/base/result.h"
#include "mlxn/base/strings.h"

namespace mlxn::io {

// mlxn::ByteReader with an error for each read: past the end is kCorruptData and moves nothing.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes)
      : reader_({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) {}

  uint64_t position() const { return reader_.position(); }
  uint64_t left() const { return reader_.left(); }

  // A little-endian number.
  template <class T>
  Result<T> number() {
    MLXN_TRY(need(sizeof(T)));
    return reader_.number<T>();
  }

  // The next `size` bytes, borrowed.
  Result<std::string_view> text(uint64_t size) {
    MLXN_TRY(need(size));
    return reader_.take(size);
  }

 private:
  Status need(uint64_t size) const {
    if (size <= left()) return {};
    return Error(ErrorCode::kCorruptData, str("the file ends too early: ", size, " bytes at ",
                                              position(), " of ", reader_.size()));
  }

  mlxn::ByteReader reader_;
};

}  // namespace mlxn::io
