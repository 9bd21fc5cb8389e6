#pragma once

#include <cstddef>
#include <cstdint>

#include "mlxn/base/recycled.h"

namespace mlxn {

// A set of 64-bit addresses as half-open intervals. Touching and overlapping intervals melt into
// one. Blocks of at most kBlock intervals keep the cost of a look-up and an insertion near the
// square root of the number of intervals; clearing keeps the memory.
class IntervalSet {
 public:
  bool overlaps(uint64_t begin, uint64_t end) const;
  void add(uint64_t begin, uint64_t end);
  void clear();
  bool empty() const { return used_ == 0; }
  size_t size() const;  // intervals

 private:
  static constexpr size_t kBlock = 64;
  struct Interval {
    uint64_t begin, end;
  };
  struct Block {
    size_t count = 0;
    Interval items[kBlock];
  };

  size_t block_of(uint64_t address) const;
  void split(size_t block);
  void erase_block(size_t block);

  RecycledVector<Block> blocks_;  // the first used_ are in order; none of those is empty
  size_t used_ = 0;
};

}  // namespace mlxn
