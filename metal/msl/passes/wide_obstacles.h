// What keeps a kernel from running 16 threads at a time (see wide_loop.h).
#pragma once

#include <optional>
#include <vector>

#include "llvm/IR/Function.h"
#include "metal/msl/passes/paired_branches.h"
#include "metal/msl/passes/thread_steps.h"

namespace mlxn::msl {

// True for what tells the compiler something and does nothing.
bool is_note(const llvm::Instruction& instruction);

// The first thing that has no form for 16 threads or does not pay; `branches` are all that diverge.
std::optional<Refusal> find_wide_obstacle(llvm::Function& entry, const ThreadSteps& steps,
                                          const std::vector<PairedBranch>& branches);

}  // namespace mlxn::msl
