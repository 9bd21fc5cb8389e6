#include "mlxn/core/memory/buffer.h"

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {

Buffer::Buffer(std::shared_ptr<Storage> storage, uint64_t offset, uint64_t length, Dtype dtype,
               Shape shape)
    : storage_(std::move(storage)),
      offset_(offset),
      length_(length),
      dtype_(dtype),
      shape_(std::move(shape)) {}

uint64_t Buffer::element_count() const {
  return shape_.element_count().value_or(0);  // checked when the buffer was made
}

StorageMode Buffer::storage_mode() const {
  return storage_ && !storage_->host ? StorageMode::kPrivate : StorageMode::kShared;
}

uint64_t Buffer::allocation_length() const {
  return storage_ ? storage_->length : 0;
}

MTL::Buffer* Buffer::metal_buffer() const {
  return storage_ ? storage_->buffer.get() : nullptr;
}

std::byte* Buffer::contents() const {
  return storage_ && storage_->host ? storage_->host + offset_ : nullptr;
}

Result<Buffer> Buffer::slice_view(uint64_t byte_offset, uint64_t elements) const {
  const auto wrong = [&](const std::string& why) {
    return Error(ErrorCode::kOutOfRange, str("slice of ", elements, " elements at byte ",
                                             byte_offset, " of ", to_string(), ": ", why));
  };
  if (!storage_) return Error(ErrorCode::kInvalidArgument, "slice of an empty buffer");
  auto bytes = size_bytes(dtype_, elements);
  if (!bytes) return wrong(bytes.error().message());
  const uint64_t unit = info(dtype_).block_bytes;
  if (byte_offset % unit != 0) return wrong(str("expected a multiple of ", unit, " bytes"));
  if (elements == 0) return wrong("expected at least one element");
  if (!span_fits(byte_offset, *bytes, length_)) {
    return wrong(str("needs ", *bytes, " bytes, expected to end within ", length_));
  }
  return Buffer(storage_, offset_ + byte_offset, *bytes, dtype_, Shape{elements});
}

Result<Buffer> Buffer::reshape(Shape shape) const {
  if (!storage_) return Error(ErrorCode::kInvalidArgument, "reshape of an empty buffer");
  MLXN_ASSIGN(const uint64_t count, shape.element_count());
  if (count != element_count()) {
    return Error(ErrorCode::kShapeMismatch,
                 str("reshape of ", to_string(), " to ", shape.to_string(), ": ", count,
                     " elements, expected ", element_count()));
  }
  Buffer out = *this;
  out.shape_ = shape;
  return out;
}

Result<std::byte*> Buffer::host_view(size_t size, size_t alignment, bool any_dtype) const {
  const auto wrong = [&](ErrorCode code, const std::string& why) {
    return Error(code, str("host view of ", to_string(), ": ", why));
  };
  if (!storage_) return wrong(ErrorCode::kInvalidArgument, "the buffer is empty");
  if (!storage_->host) {
    return wrong(ErrorCode::kInvalidState, "the memory is private; use download and upload");
  }
  const bool plain = !is_quantized(dtype_) && dtype_ != Dtype::kU8;  // u8 also carries packed data
  if (!any_dtype && plain && size != info(dtype_).block_bytes) {
    return wrong(ErrorCode::kDtypeMismatch,
                 str("elements of ", size, " bytes, expected ", info(dtype_).block_bytes));
  }
  if (length_ % size != 0) {
    return wrong(ErrorCode::kInvalidArgument,
                 str("length expected to be a multiple of the element size ", size));
  }
  if (reinterpret_cast<uintptr_t>(contents()) % alignment != 0) {
    return wrong(ErrorCode::kInvalidArgument,
                 str("address expected to be a multiple of ", alignment));
  }
  if (storage_->in_flight.load(std::memory_order_acquire) != 0) {
    return wrong(ErrorCode::kInvalidState, "a submission in flight may be using it; wait first");
  }
  return contents();
}

std::string Buffer::to_string() const {
  return str("Buffer(", mlxn::to_string(dtype_), ", ", shape_.to_string(), ", ", length_,
             " bytes)");
}

}  // namespace mlxn
