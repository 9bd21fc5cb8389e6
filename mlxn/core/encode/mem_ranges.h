// The hazard tracker: which bytes the dispatches of a concurrent group read and write, and whether
// one more may join the group. Used by encoders, sessions and graphs alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mlxn/base/array_ref.h"
#include "mlxn/core/device/options.h"
#include "mlxn/core/encode/interval_set.h"
#include "mlxn/core/memory/buffer.h"

namespace mlxn {

enum class MemRangeRole { kSrc, kDst };

// Bytes [begin, end) of one address space common to all buffers: host addresses where the host
// sees the memory, GPU addresses (in a half of their own) where it does not. Two Metal buffers over
// the same memory therefore conflict, and views conflict only where they overlap.
struct BufferRange {
  uint64_t begin = 0, end = 0;
  MemRangeRole role = MemRangeRole::kSrc;

  static BufferRange from_buffer(const Buffer& buffer, MemRangeRole role);
  // A write to all memory: what is not known to be harmless.
  static BufferRange everything() { return {0, UINT64_MAX, MemRangeRole::kDst}; }
  bool conflicts_with(const BufferRange& other) const;
  friend bool operator==(const BufferRange&, const BufferRange&) = default;
};

// All accesses of a dispatch, reads first.
std::vector<BufferRange> ranges_of(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes);

// A conflict that was found: what kind, and which new range met it.
struct HazardFound {
  Hazard hazard;
  BufferRange range;
};
const char* to_string(Hazard hazard);

class MemRanges {
 public:
  explicit MemRanges(HazardMask hazards = kAllHazards) : hazards_(hazards) {}

  // Whether a dispatch with these accesses may run beside what is recorded. Records nothing.
  // Reads and writes of the same dispatch do not conflict with each other.
  bool check_dispatch(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes);
  bool check(ArrayRef<BufferRange> ranges);
  void add_dispatch(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes);
  void add(ArrayRef<BufferRange> ranges);
  void push(const BufferRange& range);  // unchecked
  // Check, and record only when there is no conflict. On false the caller emits a barrier, resets
  // and adds.
  bool check_and_record(ArrayRef<const Buffer*> reads, ArrayRef<const Buffer*> writes);
  // Forgets the ranges; the two counts below go on.
  void reset();

  size_t len() const { return count_; }  // ranges added since the last reset
  bool is_empty() const { return count_ == 0; }
  uint64_t checks() const { return checks_; }
  uint64_t barriers_forced() const { return barriers_forced_; }
  // What the last failed check met.
  const std::optional<HazardFound>& last_hazard() const { return last_hazard_; }

 private:
  bool meets(const BufferRange& range);
  bool conclude(bool free);

  HazardMask hazards_;
  IntervalSet reads_, writes_;
  size_t count_ = 0;
  uint64_t checks_ = 0, barriers_forced_ = 0;
  std::optional<HazardFound> last_hazard_;
};

}  // namespace mlxn
