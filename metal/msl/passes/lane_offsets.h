// How the addresses of a simdgroup's lanes lie to each other, found by computing them: what depends
// on nothing but the thread's index is calculated for every thread of a threadgroup, whichever
// operations lead there.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/kernel_abi.h"

namespace mlxn::msl {

class LaneOffsets {
 public:
  using Uniform = std::function<bool(const llvm::Value*)>;  // equal in all lanes of a simdgroup

  // `thread`: the thread's linear index, i32, below `threads`; every simdgroup has all its lanes.
  LaneOffsets(llvm::Argument& thread, unsigned threads, Uniform uniform)
      : thread_(thread), threads_(threads), uniform_(std::move(uniform)) {}

  // By how much a value (bytes, for a pointer) in each lane exceeds that of lane 0, where this is
  // the same in all simdgroups. Only for pointers and integers of 64 bits.
  using Distances = std::array<int64_t, MSL_SIMD_WIDTH>;
  std::optional<Distances> of(llvm::Value* value);

  // The value that lane 0 has, as code that is the same for the simdgroup. `of` must know it.
  llvm::Value* in_first_lane(llvm::Value* value);

 private:
  using Numbers = std::vector<llvm::ConstantInt*>;  // one for each thread

  const Numbers* numbers(llvm::Value* value);
  bool calculate(llvm::Instruction& instruction, Numbers& result);
  std::optional<Distances> of_numbers(const Numbers& numbers) const;
  std::optional<Distances> of_address(llvm::GetElementPtrInst& address);

  llvm::Argument& thread_;
  unsigned threads_;
  Uniform uniform_;
  std::map<llvm::Value*, std::optional<Numbers>> numbers_;
  std::map<llvm::Value*, std::optional<Distances>> distances_;
  std::map<llvm::Value*, llvm::Value*> first_;
};

}  // namespace mlxn::msl
