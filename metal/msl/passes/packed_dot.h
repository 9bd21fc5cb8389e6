// Dot products of the numbers in a word: the builtins behind mlxn/ops/common/dot.h. Passes take
// their calls for arithmetic; late they become the target's instruction, or what gives the same
// result.
#pragma once

#include <optional>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

namespace mlxn::msl {

enum class PackedDot {
  kBytes,    // sum + four products of an unsigned and a signed byte; wraps
  kBfloats,  // fma(low, low, fma(high, high, sum)) of two bfloats; denormals may count as zero
};

// Which builtin a call is of, if any.
std::optional<PackedDot> packed_dot(const llvm::CallBase& call);

// The product of a call's three operands, numbers or vectors of them, for the target of the
// function that is built. The number of elements is a power of two.
llvm::Value* emit_packed_dot(llvm::IRBuilder<>& builder, PackedDot kind,
                             llvm::ArrayRef<llvm::Value*> operands);

// Tells LLVM's vectorisers that there are functions of vectors for the calls.
void offer_packed_dots(llvm::Module& module);

// Replaces the calls that are left.
void lower_packed_dots(llvm::Module& module);

}  // namespace mlxn::msl
