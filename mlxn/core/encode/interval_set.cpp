#include "mlxn/core/encode/interval_set.h"

#include <algorithm>

namespace mlxn {

// The block that holds, or would take, an interval that ends at or after `address`: the first whose
// last interval does, else the last block.
size_t IntervalSet::block_of(uint64_t address) const {
  const auto first = blocks_.begin(), last = first + static_cast<ptrdiff_t>(used_);
  const auto found = std::partition_point(
      first, last, [&](const Block& b) { return b.items[b.count - 1].end < address; });
  return static_cast<size_t>(std::min(found, last - 1) - first);
}

bool IntervalSet::overlaps(uint64_t begin, uint64_t end) const {
  if (used_ == 0 || begin >= end) return false;
  // The first interval that ends after `begin` is the only candidate.
  for (size_t b = block_of(begin); b < used_; ++b) {
    const Block& block = blocks_[b];
    const Interval* last = block.items + block.count;
    const Interval* found = std::partition_point(block.items + 0, last,
                                                 [&](const Interval& i) { return i.end <= begin; });
    if (found != last) return found->begin < end;
  }
  return false;
}

void IntervalSet::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (used_ == 0) {
    if (blocks_.empty()) blocks_.emplace_back();
    used_ = 1;
    blocks_[0].count = 1;
    blocks_[0].items[0] = {begin, end};
    return;
  }
  size_t b = block_of(begin);
  if (blocks_[b].count == kBlock) {
    split(b);
    b = block_of(begin);
  }
  Block& block = blocks_[b];
  Interval* last = block.items + block.count;
  Interval* from =
      std::partition_point(block.items + 0, last, [&](const Interval& i) { return i.end < begin; });
  // Melt with all intervals of this block that touch the new one ...
  Interval* to = from;
  while (to != last && to->begin <= end) {
    begin = std::min(begin, to->begin);
    end = std::max(end, to->end);
    ++to;
  }
  if (from == to) {
    std::copy_backward(from, last, last + 1);
    ++block.count;
  } else {
    std::copy(to, last, from + 1);
    block.count -= static_cast<size_t>(to - from) - 1;
  }
  // ... and, when it became this block's last, with those of the blocks behind.
  if (from == block.items + block.count - 1) {
    while (b + 1 < used_ && blocks_[b + 1].items[0].begin <= end) {
      Block& next = blocks_[b + 1];
      Interval* stop = next.items;
      while (stop != next.items + next.count && stop->begin <= end) {
        end = std::max(end, stop->end);
        ++stop;
      }
      std::copy(stop, next.items + next.count, next.items + 0);
      next.count -= static_cast<size_t>(stop - next.items);
      if (next.count != 0) break;
      erase_block(b + 1);
    }
  }
  *from = {begin, end};
}

void IntervalSet::split(size_t b) {
  if (used_ == blocks_.size()) blocks_.emplace_back();
  std::move_backward(blocks_.begin() + static_cast<ptrdiff_t>(b) + 1,
                     blocks_.begin() + static_cast<ptrdiff_t>(used_),
                     blocks_.begin() + static_cast<ptrdiff_t>(used_) + 1);
  ++used_;
  Block& low = blocks_[b];
  Block& high = blocks_[b + 1];
  constexpr size_t kHalf = kBlock / 2;
  std::copy(low.items + kHalf, low.items + kBlock, high.items + 0);
  low.count = kHalf;
  high.count = kBlock - kHalf;
}

void IntervalSet::erase_block(size_t b) {
  std::move(blocks_.begin() + static_cast<ptrdiff_t>(b) + 1,
            blocks_.begin() + static_cast<ptrdiff_t>(used_),
            blocks_.begin() + static_cast<ptrdiff_t>(b));
  --used_;
}

void IntervalSet::clear() {
  used_ = 0;
}

size_t IntervalSet::size() const {
  size_t count = 0;
  for (size_t b = 0; b < used_; ++b) count += blocks_[b].count;
  return count;
}

}  // namespace mlxn
