// How addresses move from one lane to the next.
#pragma once

#include <map>
#include <optional>

#include "llvm/Analysis/LoopInfo.h"
#include "metal/msl/passes/uniformity.h"

namespace mlxn::msl {

class LaneStrides {
 public:
  LaneStrides(llvm::Function& entry, const Uniformity& uniformity);

  // The difference between neighbouring lanes: bytes for pointers. Null when it is not constant.
  // Wrap-around of 32-bit indices is left out: it tells what is worth doing, not what is right.
  std::optional<int64_t> of(const llvm::Value* value);

  // A loop whose lanes should run side by side: innermost, and its memory accesses are uniform or
  // close to each other from lane to lane, so that they become vector loads.
  bool is_worth_vectorising(const llvm::Loop& loop);

  // A loop whose lanes should run side by side although each of them loads runs of elements of its
  // own: StageLoads brings those together. Innermost, without branches and stores, with enough
  // arithmetic for what is loaded. For simdgroups that have all their lanes.
  bool is_worth_staging(const llvm::Loop& loop);

  // A loop in which every round waits for what the last one loaded, such as a binary search. One
  // lane after the other, it is slow however simple it is; side by side, lanes wait together.
  // Innermost, with few loads and no stores, and only where vectors can be gathered under a mask.
  bool is_search(const llvm::Loop& loop) const;

 private:
  std::optional<int64_t> compute(const llvm::Value* value);

  llvm::Function& entry_;
  const Uniformity& uniformity_;
  std::map<const llvm::Value*, std::optional<int64_t>> known_;
};

}  // namespace mlxn::msl
