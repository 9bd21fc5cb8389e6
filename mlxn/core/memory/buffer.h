// Buffers: typed, shaped handles on a GPU allocation. Copies and views share the allocation; it
// lives until the last handle, recorded graph and unfinished submission that uses it is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <Metal/Metal.hpp>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/core/memory/shape.h"

namespace mlxn {

class Storage;

enum class StorageMode {
  kShared,   // the host sees it; the default
  kPrivate,  // for the GPU alone; filled and read by upload and download
};

// Handles may be shared between threads. The bytes are not synchronised: the host must not touch
// what a submission in flight uses (see RuntimeOptions::check_host_access).
class Buffer {
 public:
  Buffer() = default;  // empty: no memory, refused wherever a buffer is expected
  Buffer(std::shared_ptr<Storage> storage, uint64_t offset, uint64_t length, Dtype dtype,
         Shape shape);

  explicit operator bool() const { return storage_ != nullptr; }
  Dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  uint64_t element_count() const;
  // Of this buffer: a view knows its own extent.
  uint64_t byte_len() const { return length_; }
  uint64_t byte_offset() const { return offset_; }  // from the start of the allocation
  StorageMode storage_mode() const;
  // Of the whole allocation behind it.
  uint64_t allocation_length() const;
  MTL::Buffer* metal_buffer() const;  // borrowed
  const std::shared_ptr<Storage>& storage() const { return storage_; }

  // The first byte of this buffer on the host; null when private or empty.
  std::byte* contents() const;

  // A part of this buffer: `elements` elements from `byte_offset`, which counts from this buffer's
  // own start. Fails when it does not fit or the offset is not a multiple of the element size.
  Result<Buffer> slice_view(uint64_t byte_offset, uint64_t elements) const;
  // The same bytes in another shape of the same number of elements.
  Result<Buffer> reshape(Shape shape) const;

  // Host views of exactly this buffer's bytes. T must fit the dtype's size (std::byte and unsigned
  // char always do) and the address; private and, when checked, busy memory is refused.
  template <class T>
  Result<std::span<const T>> as_slice() const {
    MLXN_ASSIGN(std::byte * bytes, host_view(sizeof(T), alignof(T), is_byte<T>));
    return std::span<const T>(reinterpret_cast<const T*>(bytes), length_ / sizeof(T));
  }
  template <class T>
  Result<std::span<T>> as_mut_slice() {
    MLXN_ASSIGN(std::byte * bytes, host_view(sizeof(T), alignof(T), is_byte<T>));
    return std::span<T>(reinterpret_cast<T*>(bytes), length_ / sizeof(T));
  }

  std::string to_string() const;  // "Buffer(f16, [4, 8], 64 bytes)"

 private:
  template <class T>
  static constexpr bool is_byte = std::is_same_v<std::remove_cv_t<T>, std::byte> ||
                                  std::is_same_v<std::remove_cv_t<T>, unsigned char>;
  Result<std::byte*> host_view(size_t size, size_t alignment, bool any_dtype) const;

  std::shared_ptr<Storage> storage_;
  uint64_t offset_ = 0, length_ = 0;
  Dtype dtype_ = Dtype::kU8;
  Shape shape_;
};

}  // namespace mlxn
