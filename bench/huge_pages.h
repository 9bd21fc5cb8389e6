// Memory in large pages, as the CPU executor gives its buffers: all implementations then see the
// same cost of address translation.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace mlxn::bench {

template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{2 << 20};

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  T* allocate(size_t count) {
    void* block = ::operator new(count * sizeof(T), kAlignment);
    madvise(block, count * sizeof(T), MADV_HUGEPAGE);
    return static_cast<T*>(block);
  }
  void deallocate(T* block, size_t) { ::operator delete(block, kAlignment); }
  bool operator==(const HugePages&) const = default;
};

using Bytes = std::vector<uint8_t, HugePages<uint8_t>>;
using Floats = std::vector<float, HugePages<float>>;

}  // namespace mlxn::bench
