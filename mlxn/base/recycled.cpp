#include "mlxn/base/recycled.h"

#include <array>
#include <bit>
#include <mutex>
#include <new>

namespace mlxn {
namespace {

// Sizes are powers of two, of which each keeps so many bytes at most. Sanitizers want to see every
// block come and go.
#ifndef MLXN_SANITIZED
constexpr size_t kKeptBytes = 64 << 10;
#else
constexpr size_t kKeptBytes = 0;
#endif
constexpr size_t kSmallest = 16, kLargest = 4096;

struct Block {
  Block* next;
};

class Shelf {
 public:
  void* take() {
    std::lock_guard lock(mutex_);
    if (!first_) return nullptr;
    --count_;
    return std::exchange(first_, first_->next);
  }
  // Whether there was room for it.
  bool put(void* memory, size_t bytes) {
    std::lock_guard lock(mutex_);
    if ((count_ + 1) * bytes > kKeptBytes) return false;
    ++count_;
    first_ = new (memory) Block{first_};
    return true;
  }

 private:
  std::mutex mutex_;
  Block* first_ = nullptr;
  size_t count_ = 0;
};

constexpr size_t number_of(size_t bytes) {
  return static_cast<size_t>(std::bit_width((bytes - 1) / kSmallest));
}
constexpr size_t rounded(size_t bytes) {
  return kSmallest << number_of(bytes);
}

// Never destroyed: threads and static objects may still use it while the process ends.
Shelf& shelf_of(size_t bytes) {
  static auto& shelves = *new std::array<Shelf, number_of(kLargest) + 1>;
  return shelves[number_of(bytes)];
}

}  // namespace

void* take_recycled(size_t bytes) {
  if (bytes == 0) bytes = 1;
  if (bytes > kLargest) return ::operator new(bytes);
  void* const kept = shelf_of(bytes).take();
  return kept ? kept : ::operator new(rounded(bytes));
}

void give_back_recycled(void* memory, size_t bytes) noexcept {
  if (bytes == 0) bytes = 1;
  if (!memory || (bytes <= kLargest && shelf_of(bytes).put(memory, rounded(bytes)))) return;
  ::operator delete(memory);
}

}  // namespace mlxn
