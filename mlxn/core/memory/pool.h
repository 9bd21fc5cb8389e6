#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mlxn/core/device/device.h"

namespace mlxn {

struct PoolOptions {
  // Private memory is not cleared when it is new, nor by the options below.
  StorageMode mode = StorageMode::kShared;
  uint64_t max_bytes = UINT64_MAX;  // of memory the pool owns, handed out or free
  uint64_t max_buffers = UINT64_MAX;
  // Free memory beyond this is given back to the system, least recently used first.
  uint64_t max_free_bytes = UINT64_MAX;
  // Handed-out memory stays with the pool until `reset`, even when its handles are gone earlier:
  // an arena. Otherwise it comes back when the last handle goes.
  bool hold_until_reset = false;
  bool zero_recycled = false;  // recycled memory is cleared like new memory
  // Recycled memory is filled with 0xA5, so that reading what was never written shows. Clearing
  // wins when both are set.
  bool poison_recycled = false;
};

struct PoolStats {
  uint64_t in_use_count = 0, in_use_bytes = 0;  // handed out, or still used by the GPU
  uint64_t free_count = 0, free_bytes = 0;
  uint64_t requested_bytes = 0;  // of what is in use: the difference to in_use_bytes is waste
  uint64_t hits = 0, misses = 0, evictions = 0;
};

struct PoolRequest {
  Dtype dtype;
  Shape shape;
};

// Recycles allocations of similar size. Memory is handed out again only when every handle, view,
// recorded graph and submission in flight that used it is gone; it comes back exactly once, by
// ownership, so it can never be handed out twice. Thread-safe. Buffers may outlive the pool.
// One that was moved from fails with kInvalidState.
class BufferPool {
 public:
  explicit BufferPool(const Device& device, PoolOptions options = {});
  ~BufferPool();
  BufferPool(BufferPool&&) noexcept;
  BufferPool& operator=(BufferPool&&) noexcept;

  // The size class of a request: eight classes in each octave from 128 bytes up (at most 12.5 %
  // waste), rounded to whole 16 bytes below. kInvalidArgument for 0, kOutOfRange on overflow.
  static Result<uint64_t> size_class(uint64_t byte_len);

  // Exactly the size dtype and shape need, on memory of its size class. New memory is zero.
  Result<Buffer> alloc(Dtype dtype, Shape shape);
  // All or nothing. Residency is staged, as for every allocation; the next submission applies it.
  Result<std::vector<Buffer>> alloc_batch(ArrayRef<PoolRequest> requests);
  // Gives the handle up, as its destruction would. Fails with kInvalidArgument for a buffer of
  // another origin. The memory is free once nothing else uses it.
  Status release(Buffer buffer);
  // Ends a cycle: drops what hold_until_reset held.
  void reset();
  // Gives free memory back to the system.
  void clear();
  // Makes a buffer from elsewhere resident for the rest of its life, which the pool does not
  // prolong. Idempotent. kInvalidArgument for a buffer of another device.
  Status register_existing(const Buffer& buffer);

  PoolStats stats() const;

 private:
  Status check_usable() const;

  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace mlxn
