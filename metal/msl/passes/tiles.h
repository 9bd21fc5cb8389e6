// 8x8 matrices of a simdgroup as values. The standard library gives every lane two elements of a
// matrix; code for one lane sees pairs, and matrix loads, stores and products as calls. Where whole
// simdgroups run together, a matrix becomes one vector of 64 elements, a tile: element e of lane l
// is its element 2 * l + e. Four calls work on tiles:
//
//   <64 x T> __msl_tile_load_T(ptr, i64 down, i64 across)        element (r, c) at r*down +
//   c*across void     __msl_tile_store_T(ptr, i64 down, i64 across, <64 x T>) <64 x float>
//   __msl_tile_fma(<64 x float> a, b, c)            a * b + c <64 x T> __msl_tile_from_lanes_T(<2 x
//   T>)                    collects the pairs of all lanes <2 x T>  __msl_tile_to_lane_T(<64 x T>,
//   i32 lane)            the pair of one lane
//
// T is f32, f16 or bf16. All but to_lane are the same for all lanes; from_lanes is a cross-lane
// operation, the others are not.
#pragma once

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace mlxn::msl {

// Tells the optimiser what the library's matrix loads and stores do to memory.
void describe_matrix_memory(llvm::Module& module);

// Gives each lane loads and stores of its own two elements, for tiers that run lanes by themselves.
void lower_matrix_memory(llvm::Function& entry);

enum class TileCall { kNone, kLoad, kStore, kFma, kFromLanes, kToLane };
TileCall tile_call(const llvm::Instruction& instruction);

// Calls one of the functions above for elements of type `element`.
llvm::CallInst* call_tile(llvm::IRBuilder<>& builder, TileCall kind, llvm::Type* element,
                          llvm::ArrayRef<llvm::Value*> arguments);

// What matrices are made of, or vectors of it.
inline bool is_matrix_element(const llvm::Type* type) {
  type = type->getScalarType();
  return type->isFloatTy() || type->isHalfTy() || type->isBFloatTy();
}

inline llvm::FixedVectorType* tile_type(llvm::Type* element) {
  return llvm::FixedVectorType::get(element, 64);
}

// Where the first of a lane's two elements lies in a matrix; the second one is to its right.
struct MatrixPlace {
  unsigned row, column;
};
constexpr MatrixPlace first_element_of(unsigned lane) {
  return {lane / 16 * 4 + lane / 2 % 4, lane / 8 % 2 * 4 + lane % 2 * 2};
}

// What the library calls on matrices in memory.
enum class MatrixMemory { kNone, kLoad, kStore };
MatrixMemory matrix_memory(const llvm::Instruction& instruction);

// True for what runs once for the simdgroup and in its place among the lanes' memory accesses and
// cross-lane operations: loads, stores and from_lanes.
inline bool is_tile_operation(const llvm::Instruction& instruction) {
  TileCall kind = tile_call(instruction);
  return kind == TileCall::kLoad || kind == TileCall::kStore || kind == TileCall::kFromLanes;
}

// Vector code for a load, store, product or from_lanes (whose operand is then the <64 x T> of all
// pairs). Returns its value, null for a store.
llvm::Value* emit_tile_operation(llvm::IRBuilder<>& builder, const llvm::CallInst& call,
                                 llvm::ArrayRef<llvm::Value*> operands);

// Replaces all tile calls but from_lanes by vector code.
void expand_tiles(llvm::Function& function);

}  // namespace mlxn::msl
