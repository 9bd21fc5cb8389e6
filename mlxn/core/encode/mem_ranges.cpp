#include "mlxn/core/encode/mem_ranges.h"

#include <algorithm>

#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {

BufferRange BufferRange::from_buffer(const Buffer& buffer, MemRangeRole role) {
  if (!buffer) return {0, 0, role};
  const uint64_t begin = buffer.storage()->address + buffer.byte_offset();
  return {begin, begin + buffer.byte_len(), role};
}

bool BufferRange::conflicts_with(const BufferRange& other) const {
  if (role == MemRangeRole::kSrc && other.role == MemRangeRole::kSrc) return false;
  return std::max(begin, other.begin) < std::min(end, other.end);  // empty ranges meet nothing
}

std::vector<BufferRange> ranges_of(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes) {
  std::vector<BufferRange> out;
  out.reserve(reads.size() + writes.size());
  for (const Buffer* read : reads) {
    out.push_back(BufferRange::from_buffer(*read, MemRangeRole::kSrc));
  }
  for (const Buffer* write : writes) {
    out.push_back(BufferRange::from_buffer(*write, MemRangeRole::kDst));
  }
  return out;
}

const char* to_string(Hazard hazard) {
  switch (hazard) {
    case Hazard::kReadAfterWrite: return "RAW";
    case Hazard::kWriteAfterRead: return "WAR";
    case Hazard::kWriteAfterWrite: return "WAW";
  }
  return "unknown";
}

bool MemRanges::meets(const BufferRange& range) {
  auto hits = [&](Hazard hazard, const IntervalSet& set) {
    if (!(hazards_ & static_cast<HazardMask>(hazard))) return false;
    if (!set.overlaps(range.begin, range.end)) return false;
    last_hazard_ = HazardFound{hazard, range};
    return true;
  };
  if (range.role == MemRangeRole::kSrc) return hits(Hazard::kReadAfterWrite, writes_);
  return hits(Hazard::kWriteAfterWrite, writes_) || hits(Hazard::kWriteAfterRead, reads_);
}

bool MemRanges::conclude(bool free) {
  ++checks_;
  if (!free) ++barriers_forced_;
  return free;
}

bool MemRanges::check_dispatch(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes) {
  for (const Buffer* buffer : reads) {
    if (meets(BufferRange::from_buffer(*buffer, MemRangeRole::kSrc))) return conclude(false);
  }
  for (const Buffer* buffer : writes) {
    if (meets(BufferRange::from_buffer(*buffer, MemRangeRole::kDst))) return conclude(false);
  }
  return conclude(true);
}

bool MemRanges::check(ArrayRef<BufferRange> ranges) {
  for (const BufferRange& range : ranges) {
    if (meets(range)) return conclude(false);
  }
  return conclude(true);
}

void MemRanges::add_dispatch(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes) {
  for (const Buffer* buffer : reads) push(BufferRange::from_buffer(*buffer, MemRangeRole::kSrc));
  for (const Buffer* buffer : writes) push(BufferRange::from_buffer(*buffer, MemRangeRole::kDst));
}

void MemRanges::add(ArrayRef<BufferRange> ranges) {
  for (const BufferRange& range : ranges) push(range);
}

void MemRanges::push(const BufferRange& range) {
  (range.role == MemRangeRole::kSrc ? reads_ : writes_).add(range.begin, range.end);
  ++count_;
}

bool MemRanges::check_and_record(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes) {
  if (!check_dispatch(reads, writes)) return false;
  add_dispatch(reads, writes);
  return true;
}

void MemRanges::reset() {
  reads_.clear();
  writes_.clear();
  count_ = 0;
}

}  // namespace mlxn
