// Says in words, with source lines, how a kernel runs on the CPU and why (mslc --explain).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

struct Explanation {
  std::string text;
  bool of_loops = false;  // loops of the kernel are LLVM's to make vectors of
};

// Describes a kernel that has been lowered from `entry`, the entry function as it was before a tier
// was built from it, with line numbers. `refusal`: why tier 1 was not possible, or why tier 0 does
// not take threads 16 at a time.
Explanation explain(llvm::Function& entry, const Kernel& kernel, const CompileRequest& request,
                    const std::optional<Refusal>& refusal);

// What LLVM's vectoriser says of a loop that it leaves as it is.
struct ScalarLoop {
  std::string function;  // that holds the loop
  std::string text;
};

// Notes in `loops`, which must outlive all passes, what optimisation of the context's modules
// tells.
void note_scalar_loops(llvm::LLVMContext& context, std::vector<ScalarLoop>& loops);

// Those of a kernel, with the reasons. Loops of operations on whole matrices are vectors already.
std::string explain_loops(const Kernel& kernel, const std::vector<ScalarLoop>& loops);

}  // namespace mlxn::msl
