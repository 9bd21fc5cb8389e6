// Says in words, with source lines, how a kernel runs on the CPU and why (mslc --explain).
#pragma once

#include <optional>
#include <string>

#include "llvm/IR/Function.h"
#include "metal/msl/interface.h"
#include "metal/msl/passes/regions.h"

namespace mlxn::msl {

// Describes a kernel that has been lowered from `entry`, the entry function as it was before a tier
// was built from it, with line numbers. `refusal`: why tier 1 was not possible, or why tier 0 does
// not take threads 16 at a time.
std::string explain(llvm::Function& entry, const Kernel& kernel, const CompileRequest& request,
                    const std::optional<Refusal>& refusal);

}  // namespace mlxn::msl
