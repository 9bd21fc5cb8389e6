#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace mlxn::cpu {

// What faults outside of a block.
enum class MemoryGuard { kNone, kStores, kAll };

// Memory between two ranges of 1 MiB that nobody may touch, to find accesses outside it. It lies
// against the second one, as far as alignment lets it: of what is in front of its start, up to a
// page can be touched. Its addresses stay out of reach for a while after it is gone.
class GuardedBlock {
 public:
  // Zero-filled, its start a multiple of `alignment`, a power of 2 of at most a page. Without
  // data() when the system refuses. For a guard other than kNone.
  static GuardedBlock create(uint64_t size, uint64_t alignment, MemoryGuard guard);

  GuardedBlock() = default;
  GuardedBlock(GuardedBlock&& other) noexcept { swap(other); }
  GuardedBlock& operator=(GuardedBlock&& other) noexcept {
    GuardedBlock(std::move(other)).swap(*this);
    return *this;
  }
  ~GuardedBlock();

  std::byte* data() const { return data_; }
  std::byte* end() const { return end_; }

 private:
  void swap(GuardedBlock& other) noexcept {
    std::swap(reserved_, other.reserved_);
    std::swap(reserved_bytes_, other.reserved_bytes_);
    std::swap(data_, other.data_);
    std::swap(end_, other.end_);
  }

  std::byte* reserved_ = nullptr;  // everything, guards included
  uint64_t reserved_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::byte* end_ = nullptr;  // of the bytes that may be touched
};

// Whether the address belongs to a block that is gone.
bool is_in_freed_block(uintptr_t address);

}  // namespace mlxn::cpu
