// Products of tiles (see tiles.h) that stand in one block and share operands are made together, up
// to four sums at a time, two by two: each operand then serves two sums. Along all products that a
// sum takes in there is one loop, in which the sums are registers; the operands lie in memory, from
// where an instruction can fetch and spread them. Four sums take 16 of the 32 registers of AVX-512;
// with fewer registers, products stay apart.
#pragma once

#include "llvm/IR/Function.h"

namespace mlxn::msl {

// Replaces products by vector code where joining pays; leaves the others.
void join_products(llvm::Function& function);

}  // namespace mlxn::msl
