// How values differ between the threads of a set: 16 neighbours in x, of which the first has a
// position and a linear index that are multiples of 16.
#pragma once

#include <map>
#include <vector>

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace mlxn::msl {

inline constexpr unsigned kSetSize = 16;

struct ThreadStep {
  enum class Kind {
    kUnknown,  // of code that is not reached
    kSteps,    // thread i has first + i * step, modulo 2^width; bytes for pointers
    kVaries,
  };
  Kind kind = Kind::kUnknown;
  int64_t step = 0;
  bool whole = false;  // the first thread's value is a multiple of 16

  bool operator==(const ThreadStep&) const = default;
  bool steps() const { return kind == Kind::kSteps; }
  bool uniform() const { return steps() && step == 0; }
};

class ThreadSteps {
 public:
  // `entry` has the parameters of entry.h. A load is as uniform as its address, as in uniformity.h.
  explicit ThreadSteps(llvm::Function& entry);

  ThreadStep of(const llvm::Value* value) const;
  bool uniform(const llvm::Value* value) const { return of(value).uniform(); }
  // True if from thread to thread the address moves by the bytes of what lies there.
  bool side_by_side(const llvm::Value* address, llvm::Type* type) const;
  // Whether threads of a set may take different ways at the end of the block.
  bool diverges(const llvm::BasicBlock& block) const;

 private:
  ThreadStep evaluate(llvm::Instruction& instruction) const;
  ThreadStep evaluate_phi(const llvm::PHINode& phi) const;
  ThreadStep evaluate_call(const llvm::CallInst& call) const;
  ThreadStep evaluate_address(llvm::GetElementPtrInst& address) const;
  ThreadStep evaluate_binary(llvm::BinaryOperator& operation) const;
  bool extends(const llvm::Value* value, bool is_signed) const;

  llvm::Function& entry_;
  std::map<const llvm::Value*, ThreadStep> steps_;
  // Where the ways from a branch meet again, with the conditions of the branches.
  std::map<const llvm::BasicBlock*, std::vector<const llvm::Value*>> joins_;
};

}  // namespace mlxn::msl
