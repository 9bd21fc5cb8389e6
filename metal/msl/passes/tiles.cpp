#include "metal/msl/passes/tiles.h"

#include <array>
#include <map>

#include "llvm/ADT/Sequence.h"
#include "metal/msl/passes/join_products.h"
#include "metal/msl/passes/simdgroup_ops.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr unsigned kElements = 64;
constexpr unsigned kBlock = 16;  // a 4 x 4 block of a tile, row by row
constexpr StringRef kNames[] = {"",
                                "__msl_tile_load_",
                                "__msl_tile_store_",
                                "__msl_tile_fma",
                                "__msl_tile_from_lanes_",
                                "__msl_tile_to_lane_"};

StringRef callee_name(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName() : StringRef();
}

StringRef suffix_of(Type* element) {
  return element->isFloatTy() ? "f32" : element->isHalfTy() ? "f16" : "bf16";
}

Align element_align(Type* element) {
  return Align(element->getScalarSizeInBits() / 8);
}

// Where an element of a tile lies in the matrix.
constexpr MatrixPlace place_of(unsigned element) {
  MatrixPlace place = first_element_of(element / 2);
  place.column += element % 2;
  return place;
}

Value* join(IRBuilder<>& b, Value* low, Value* high) {
  unsigned size = 2 * cast<FixedVectorType>(low->getType())->getNumElements();
  return b.CreateShuffleVector(low, high, llvm::to_vector(seq<int>(0, int(size))));
}

Value* block_of(IRBuilder<>& b, Value* tile, unsigned block) {
  return b.CreateShuffleVector(
      tile, llvm::to_vector(seq<int>(int(block * kBlock), int((block + 1) * kBlock))));
}

// --- Code of one lane

// The address of a lane's first element.
Value* lane_address(IRBuilder<>& b, Type* element, const CallInst& call) {
  Value *base = call.getArgOperand(0), *down = call.getArgOperand(1),
        *across = call.getArgOperand(2);
  Value* lane = b.CreateZExt(call.getArgOperand(3), b.getInt64Ty());
  auto bits = [&](unsigned shift, unsigned mask, unsigned scale) {
    return b.CreateMul(b.CreateAnd(b.CreateLShr(lane, shift), mask), b.getInt64(scale));
  };
  Value* row = b.CreateAdd(bits(4, 1, 4), bits(1, 3, 1));
  Value* column = b.CreateAdd(bits(3, 1, 4), bits(0, 1, 2));
  return b.CreateGEP(element, base,
                     b.CreateAdd(b.CreateMul(row, down), b.CreateMul(column, across)));
}

void lower_lane_access(CallInst& call) {
  IRBuilder<> b(&call);
  bool is_load = matrix_memory(call) == MatrixMemory::kLoad;
  Type* pair = is_load ? call.getType() : call.getArgOperand(4)->getType();
  Type* element = cast<FixedVectorType>(pair)->getElementType();
  Value* address[2] = {lane_address(b, element, call), nullptr};
  address[1] = b.CreateGEP(element, address[0], call.getArgOperand(2));
  Value* result = PoisonValue::get(pair);
  for (unsigned e = 0; e < 2; ++e) {
    if (is_load)
      result = b.CreateInsertElement(
          result, b.CreateAlignedLoad(element, address[e], element_align(element)), uint64_t(e));
    else
      b.CreateAlignedStore(b.CreateExtractElement(call.getArgOperand(4), uint64_t(e)), address[e],
                           element_align(element));
  }
  if (is_load) call.replaceAllUsesWith(result);
  call.eraseFromParent();
}

// --- Code of a simdgroup

Value* address_of(IRBuilder<>& b, Type* element, Value* base, Value* stride, unsigned index) {
  return b.CreateGEP(element, base, b.CreateMul(stride, b.getInt64(index)));
}

// Rows of eight neighbouring elements, `down` apart.
Value* load_rows(IRBuilder<>& b, Type* element, Value* base, Value* down) {
  Type* row_type = FixedVectorType::get(element, 8);
  std::array<Value*, 4> blocks;
  for (unsigned half = 0; half < 2; ++half) {
    std::array<Value*, 4> rows;
    for (unsigned r = 0; r < 4; ++r)
      rows[r] = b.CreateAlignedLoad(row_type, address_of(b, element, base, down, half * 4 + r),
                                    element_align(element));
    Value *upper = join(b, rows[0], rows[1]), *lower = join(b, rows[2], rows[3]);
    for (unsigned side = 0; side < 2; ++side) {
      SmallVector<int, kBlock> mask;
      for (unsigned i = 0; i < kBlock; ++i) mask.push_back(int(i / 4 * 8 + side * 4 + i % 4));
      blocks[half * 2 + side] = b.CreateShuffleVector(upper, lower, mask);
    }
  }
  return join(b, join(b, blocks[0], blocks[1]), join(b, blocks[2], blocks[3]));
}

void store_rows(IRBuilder<>& b, Value* tile, Value* base, Value* down) {
  Type* element = cast<FixedVectorType>(tile->getType())->getElementType();
  for (unsigned half = 0; half < 2; ++half) {
    Value *left = block_of(b, tile, half * 2), *right = block_of(b, tile, half * 2 + 1);
    for (unsigned r = 0; r < 4; ++r) {
      SmallVector<int, 8> mask;
      for (unsigned i = 0; i < 8; ++i) mask.push_back(int(i / 4 * kBlock + r * 4 + i % 4));
      b.CreateAlignedStore(b.CreateShuffleVector(left, right, mask),
                           address_of(b, element, base, down, half * 4 + r),
                           element_align(element));
    }
  }
}

Value* transpose(IRBuilder<>& b, Value* tile) {
  SmallVector<int, kBlock> mask;
  for (unsigned i = 0; i < kBlock; ++i) mask.push_back(int(i % 4 * 4 + i / 4));
  auto turned = [&](unsigned block) {
    return b.CreateShuffleVector(block_of(b, tile, block), mask);
  };
  return join(b, join(b, turned(0), turned(2)), join(b, turned(1), turned(3)));
}

bool is_one(const Value* value) {
  const auto* constant = dyn_cast<ConstantInt>(value);
  return constant && constant->isOne();
}

// Calls `access` with the address of each element.
void for_each_element(IRBuilder<>& b, Type* element, ArrayRef<Value*> where,
                      const std::function<void(unsigned, Value*)>& access) {
  for (unsigned i = 0; i < kElements; ++i) {
    Value* row = address_of(b, element, where[0], where[1], place_of(i).row);
    access(i, address_of(b, element, row, where[2], place_of(i).column));
  }
}

// `where`: base, down, across.
Value* emit_load(IRBuilder<>& b, Type* element, ArrayRef<Value*> where) {
  if (is_one(where[2])) return load_rows(b, element, where[0], where[1]);
  if (is_one(where[1])) return transpose(b, load_rows(b, element, where[0], where[2]));
  Value* tile = PoisonValue::get(tile_type(element));
  for_each_element(b, element, where, [&](unsigned i, Value* address) {
    Value* value = b.CreateAlignedLoad(element, address, element_align(element));
    tile = b.CreateInsertElement(tile, value, uint64_t(i));
  });
  return tile;
}

void emit_store(IRBuilder<>& b, Value* tile, ArrayRef<Value*> where) {
  if (is_one(where[2])) return store_rows(b, tile, where[0], where[1]);
  if (is_one(where[1])) return store_rows(b, transpose(b, tile), where[0], where[2]);
  Type* element = cast<FixedVectorType>(tile->getType())->getElementType();
  for_each_element(b, element, where, [&](unsigned i, Value* address) {
    b.CreateAlignedStore(b.CreateExtractElement(tile, uint64_t(i)), address,
                         element_align(element));
  });
}

// Tiles that lanes read from, each in memory: a vector cannot be indexed by a variable in
// registers.
class LaneReads {
 public:
  explicit LaneReads(Function& function) : entry_(function.getEntryBlock()) {}

  Value* read(CallInst& call) {
    IRBuilder<> b(&call);
    Value* tile = call.getArgOperand(0);
    Type* pair = call.getType();
    Value* lane = b.CreateZExt(call.getArgOperand(1), b.getInt64Ty());
    return b.CreateLoad(pair, b.CreateInBoundsGEP(pair, place(tile), lane));
  }

 private:
  Value* place(Value* tile) {
    AllocaInst*& slot = places_[tile];
    if (slot) return slot;
    IRBuilder<> top(&entry_, entry_.begin());
    slot = top.CreateAlloca(tile->getType());
    slot->setAlignment(Align(64));
    BasicBlock::iterator after = entry_.getFirstNonPHIOrDbgOrAlloca();
    if (auto* made = dyn_cast<Instruction>(tile)) {
      after = std::next(made->getIterator());
      if (isa<PHINode>(made)) after = made->getParent()->getFirstInsertionPt();
    }
    IRBuilder<> b(after->getParent(), after);
    b.CreateStore(tile, slot);
    return slot;
  }

  BasicBlock& entry_;
  std::map<Value*, AllocaInst*> places_;
};

template <class Wanted>
std::vector<CallInst*> calls_that(Function& function, Wanted wanted) {
  std::vector<CallInst*> calls;
  for (BasicBlock& block : function)
    for (Instruction& instruction : block)
      if (wanted(instruction)) calls.push_back(cast<CallInst>(&instruction));
  return calls;
}

}  // namespace

MatrixMemory matrix_memory(const Instruction& instruction) {
  StringRef name = callee_name(instruction);
  if (name.starts_with("__msl_matrix_load_")) return MatrixMemory::kLoad;
  if (name.starts_with("__msl_matrix_store_")) return MatrixMemory::kStore;
  return MatrixMemory::kNone;
}

TileCall tile_call(const Instruction& instruction) {
  StringRef name = callee_name(instruction);
  if (!name.starts_with("__msl_tile_")) return TileCall::kNone;
  for (unsigned kind = 1; kind < std::size(kNames); ++kind)
    if (name.starts_with(kNames[kind])) return TileCall(kind);
  return TileCall::kNone;
}

void describe_matrix_memory(Module& module) {
  for (Function& function : module) {
    StringRef name = function.getName();
    bool is_load = name.starts_with("__msl_matrix_load_");
    if (!function.isDeclaration() || (!is_load && !name.starts_with("__msl_matrix_store_")))
      continue;
    function.setMemoryEffects(
        MemoryEffects::argMemOnly(is_load ? ModRefInfo::Ref : ModRefInfo::Mod));
    function.addFnAttr(Attribute::WillReturn);
    function.addFnAttr(Attribute::NoSync);
    function.addFnAttr(Attribute::NoFree);
    function.addParamAttr(0, Attribute::NoCapture);
  }
}

void lower_matrix_memory(Function& entry) {
  for (CallInst* call : calls_that(entry, [](const Instruction& instruction) {
         return matrix_memory(instruction) != MatrixMemory::kNone;
       }))
    lower_lane_access(*call);
}

CallInst* call_tile(IRBuilder<>& builder, TileCall kind, Type* element,
                    ArrayRef<Value*> arguments) {
  Module& module = *builder.GetInsertBlock()->getModule();
  std::string name = kNames[unsigned(kind)].str();
  if (kind != TileCall::kFma) name += suffix_of(element);
  Type* result = tile_type(element);
  if (kind == TileCall::kStore) result = builder.getVoidTy();
  if (kind == TileCall::kToLane) result = FixedVectorType::get(element, 2);
  SmallVector<Type*, 4> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  auto* type = FunctionType::get(result, types, false);
  auto* function = cast<Function>(module.getOrInsertFunction(name, type).getCallee());
  function->addFnAttr(Attribute::NoUnwind);
  function->addFnAttr(Attribute::WillReturn);
  switch (kind) {
    case TileCall::kLoad:
      function->setMemoryEffects(MemoryEffects::argMemOnly(ModRefInfo::Ref));
      break;
    case TileCall::kStore:
      function->setMemoryEffects(MemoryEffects::argMemOnly(ModRefInfo::Mod));
      break;
    case TileCall::kFromLanes: function->addFnAttr(Attribute::Convergent); break;
    default: function->setMemoryEffects(MemoryEffects::none());
  }
  return builder.CreateCall(function, arguments);
}

Value* emit_tile_operation(IRBuilder<>& builder, const CallInst& call, ArrayRef<Value*> operands) {
  IRBuilder<>::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  switch (tile_call(call)) {
    case TileCall::kLoad:
      return emit_load(builder, cast<FixedVectorType>(call.getType())->getElementType(), operands);
    case TileCall::kStore: emit_store(builder, operands[3], operands.take_front(3)); return nullptr;
    case TileCall::kFma: return emit_matrix_fma(builder, operands[0], operands[1], operands[2]);
    default: return operands[0];
  }
}

void expand_tiles(Function& function) {
  join_products(function);
  auto replace = [](CallInst& call, Value* result) {
    if (result) call.replaceAllUsesWith(result);
    call.eraseFromParent();
  };
  for (CallInst* call : calls_that(function, [](const Instruction& instruction) {
         TileCall kind = tile_call(instruction);
         return kind == TileCall::kLoad || kind == TileCall::kStore || kind == TileCall::kFma;
       })) {
    IRBuilder<> b(call);
    SmallVector<Value*, 4> operands(call->args());
    replace(*call, emit_tile_operation(b, *call, operands));
  }
  LaneReads reads(function);
  for (CallInst* call : calls_that(function, [](const Instruction& instruction) {
         return tile_call(instruction) == TileCall::kToLane;
       }))
    replace(*call, reads.read(*call));
}

}  // namespace mlxn::msl
