// Memory of what comes and goes with every command buffer. What is given back waits for the next of
// its size, so that a program that repeats itself asks the heap for nothing.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace mlxn {

// At least `bytes`, aligned for every plain type; like operator new when the heap has no more.
// Thread-safe, and may be given back by another thread. Large blocks go to the heap at once.
void* take_recycled(size_t bytes);
void give_back_recycled(void* memory, size_t bytes) noexcept;

// The same for containers.
template <class T>
struct RecyclingAllocator {
  static_assert(alignof(T) <= alignof(std::max_align_t));
  using value_type = T;

  RecyclingAllocator() = default;
  template <class U>
  RecyclingAllocator(const RecyclingAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(take_recycled(count * sizeof(T[1]))); }
  void deallocate(T* memory, size_t count) noexcept {
    give_back_recycled(memory, count * sizeof(T[1]));
  }
  friend bool operator==(const RecyclingAllocator&, const RecyclingAllocator&) { return true; }
};

template <class T>
using RecycledVector = std::vector<T, RecyclingAllocator<T>>;
template <class T>
using RecycledDeque = std::deque<T, RecyclingAllocator<T>>;

template <class T, class... Arguments>
std::shared_ptr<T> make_recycled(Arguments&&... arguments) {
  return std::allocate_shared<T>(RecyclingAllocator<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace mlxn
