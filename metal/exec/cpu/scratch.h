#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "mlxn/base/result.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {

// A worker's own block for threadgroup memory and coroutine frames. Grows, never shrinks, is reused
// by every threadgroup the worker runs and not cleared in between.
class Scratch {
 public:
  static constexpr uint64_t kAlignment = 128;

  // At least `size` bytes; what was there before is lost.
  Result<unsigned char*> reserve(uint64_t size) {
    if (size <= size_) return block_.get();
    const uint64_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
    block_.reset();
    size_ = 0;
    block_.reset(static_cast<unsigned char*>(std::aligned_alloc(kAlignment, rounded)));
    if (!block_) {
      return Error(ErrorCode::kOutOfMemory,
                   str("cannot allocate ", rounded, " bytes for a worker"));
    }
    size_ = rounded;
    return block_.get();
  }

 private:
  struct Free {
    void operator()(unsigned char* block) const { std::free(block); }
  };
  std::unique_ptr<unsigned char, Free> block_;
  uint64_t size_ = 0;
};

}  // namespace mlxn::cpu
