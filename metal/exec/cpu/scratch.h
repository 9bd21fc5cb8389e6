#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "metal/exec/cpu/guarded_block.h"
#include "metal/msl/kernel_abi.h"
#include "mlxn/base/result.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {

// What a threadgroup keeps in memory, each part in a block of its own.
enum class ScratchPart : uint32_t {
  kThreadgroupMemory,  // what the kernel declares
  kFrames,             // of coroutines
  kSimdgroups,
  kContext,
  kThreadgroupBuffers,  // the first of MSL_MAX_THREADGROUP_BUFFERS
};

constexpr ScratchPart threadgroup_buffer(uint32_t index) {
  return static_cast<ScratchPart>(static_cast<uint32_t>(ScratchPart::kThreadgroupBuffers) + index);
}

// A worker's own blocks for threadgroup memory and coroutine frames. They grow, never shrink, are
// reused by every threadgroup the worker runs and not cleared in between.
class Scratch {
 public:
  static constexpr uint64_t kAlignment = 128;

  explicit Scratch(MemoryGuard guard) : guard_(guard) {}

  // At least `size` bytes for a part; what was there before is lost.
  Result<unsigned char*> reserve(ScratchPart part, uint64_t size) {
    Block& block = blocks_[static_cast<uint32_t>(part)];
    if (size > block.size) MLXN_TRY(grow(block, size));
    if (guard_ == MemoryGuard::kNone) return block.plain.get();
    const bool own =
        part != ScratchPart::kThreadgroupMemory && part < ScratchPart::kThreadgroupBuffers;
    const uint64_t taken = round_up(size, own ? kOwnAlignment : kVectorAlignment);
    return reinterpret_cast<unsigned char*>(block.guarded.end()) - taken;
  }

 private:
  static constexpr uint64_t kSlack = 4096;          // so that small errors of kernels do no harm
  static constexpr uint64_t kOwnAlignment = 64;     // of frames, simdgroups and contexts
  static constexpr uint64_t kVectorAlignment = 16;  // the most that a type of a kernel has
  static constexpr size_t kParts =
      static_cast<size_t>(ScratchPart::kThreadgroupBuffers) + MSL_MAX_THREADGROUP_BUFFERS;

  struct Free {
    void operator()(unsigned char* block) const { std::free(block); }
  };
  struct Block {
    std::unique_ptr<unsigned char, Free> plain;
    GuardedBlock guarded;
    uint64_t size = 0;
  };

  static uint64_t round_up(uint64_t size, uint64_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
  }

  Status grow(Block& block, uint64_t size) {
    block = Block();
    const uint64_t rounded = round_up(size, kAlignment);
    if (guard_ != MemoryGuard::kNone) {
      block.guarded = GuardedBlock::create(rounded, kAlignment, guard_);
    } else {
      block.plain.reset(
          static_cast<unsigned char*>(std::aligned_alloc(kAlignment, rounded + kSlack)));
    }
    if (!block.plain && !block.guarded.data()) {
      return Error(ErrorCode::kOutOfMemory,
                   str("cannot allocate ", rounded, " bytes for a worker"));
    }
    block.size = rounded;
    return {};
  }

  MemoryGuard guard_;
  std::array<Block, kParts> blocks_;
};

}  // namespace mlxn::cpu
