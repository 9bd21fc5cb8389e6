// Cross-lane operations on whole simdgroups, as tiers 1 and 2 run them: each operand is an array
// with one element for each lane, the operation is straight vector code on it. Results are bit for
// bit those of metal/exec/cpu/simd_operations.cpp, which runs the same operations in the coroutine
// tier; kernel_abi.h fixes the order of evaluation for both.
#pragma once

#include <array>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "metal/msl/kernel_abi.h"

namespace mlxn::msl {

// What a cross-lane call asks for.
struct LaneOperation {
  unsigned word = 0;      // MSL_OP(kind, type, function)
  unsigned operands = 0;  // its leading arguments that are lane values; function and site follow
  bool uniform_result = false;  // every active lane gets the same value
};
LaneOperation lane_operation(const llvm::CallInst& call);

// The site number of a cross-lane call, see number_sites.
unsigned site_of(const llvm::CallInst& call);

// Runs a simdgroup operation (not a threadgroup barrier).
//   operands  for each operand a vector of 32 elements: <32 x T>, T the call's argument type; an
//             element type that is itself a vector (<2 x float> of matrices) is flattened, lane by
//             lane: <64 x float>
//   active    <32 x i1>, or null when all 32 lanes take part
// Returns the scalar result when uniform_result is set, else a vector like the operands; null for
// simdgroup_barrier. In the lanes that are not active the result is unspecified but not poison.
llvm::Value* emit_lane_operation(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                                 llvm::ArrayRef<llvm::Value*> operands, llvm::Value* active);

// a * b + c of 8x8 matrices, each a <64 x float> that holds lane after lane the two elements of
// that lane. Every element is rounded once for each k, k ascending.
llvm::Value* emit_matrix_fma(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b,
                             llvm::Value* c);

// The parts of such a matrix: 16 consecutive elements are a 4 x 4 block, row by row; the blocks lie
// upper left, upper right, lower left, lower right.
constexpr unsigned kMatrixBlock = 16;
using MatrixBlocks = std::array<llvm::Value*, 4>;
MatrixBlocks blocks_of(llvm::IRBuilder<>& builder, llvm::Value* matrix);
llvm::Value* matrix_of(llvm::IRBuilder<>& builder, const MatrixBlocks& blocks);

// Column k of a block in every column, row k in every row.
llvm::Value* repeat_column(llvm::IRBuilder<>& builder, llvm::Value* block, unsigned k);
llvm::Value* repeat_row(llvm::IRBuilder<>& builder, llvm::Value* block, unsigned k);

}  // namespace mlxn::msl
