// Questions a thread asks about itself and its arguments, answered by the lowering: calls of the
// functions without a body that stdlib/msl_runtime.h declares.
#pragma once

#include <optional>

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "mlxn/base/result.h"

namespace mlxn::msl {

// A question such as __msl_buffer_address and which one of its kind: a dimension or an index.
struct Query {
  llvm::StringRef name;
  unsigned index = 0;
};

// Gives each question that has a number a function of its own without operands, __msl_name.number:
// calls of different functions are never merged into one, as two calls with different operands are.
// Must run before any optimisation. Refuses numbers that are not constants or out of range.
Status name_queries(llvm::Module& module);

// What a call asks, if it is a question.
std::optional<Query> query_of(const llvm::Instruction& instruction);

// Refuses a cross-lane call whose function or call site is not a constant.
Status check_lane_operations(const llvm::Module& module);

}  // namespace mlxn::msl
