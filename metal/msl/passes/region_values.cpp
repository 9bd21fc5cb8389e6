#include "metal/msl/passes/region_values.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/entry.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

constexpr int kMaxCost = 16;  // instructions that are computed again rather than kept
constexpr int kTooMuch = 1000;

bool is_invariant_load(const Instruction& instruction) {
  return isa<LoadInst>(instruction) && instruction.hasMetadata(LLVMContext::MD_invariant_load);
}

// Gives the same result wherever it runs after its place in the entry function.
bool is_repeatable(const Instruction& instruction) {
  if (is_invariant_load(instruction)) return true;
  if (isa<PHINode>(instruction) || isa<AllocaInst>(instruction) || instruction.isTerminator() ||
      instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects())
    return false;
  if (const auto* call = dyn_cast<CallInst>(&instruction))
    return call->getCalledFunction() && call->getCalledFunction()->isIntrinsic() &&
           !call->isConvergent();
  return true;
}

}  // namespace

RegionValues::RegionValues(Function& entry, Function& made, const RegionGraph& graph,
                           const Uniformity& uniformity, bool masked)
    : entry_(entry),
      made_(made),
      graph_(graph),
      uniformity_(uniformity),
      masked_(masked),
      table_(made) {
  for (BasicBlock* block = &entry.getEntryBlock(); block && unconditional_.insert(block).second;)
    block = block->getSingleSuccessor();
}

bool RegionValues::is_uniform(const Value* value) const {
  if (isa<Constant>(value)) return true;
  if (auto found = in_prologue_.find(value); found != in_prologue_.end() && found->second)
    return true;
  return !masked_ && uniformity_.of(value) < Level::kLane;
}

// Threadgroup-uniform values that depend on nothing but the dispatch and `constant` memory.
bool RegionValues::in_prologue(const Value* value) {
  if (isa<Constant>(value)) return true;
  if (isa<Argument>(value))
    return value == entry_.getArg(kDispatch) || value == entry_.getArg(kThreadgroup);
  const auto* instruction = dyn_cast<Instruction>(value);
  if (!instruction) return false;
  auto [position, fresh] = in_prologue_.try_emplace(value, false);
  if (!fresh) return position->second;
  if (!is_repeatable(*instruction) || uniformity_.of(value) != Level::kThreadgroup) return false;
  bool safe = unconditional_.count(instruction->getParent()) > 0;
  if (const auto* load = dyn_cast<LoadInst>(instruction))
    safe |= isa<Argument>(getUnderlyingObject(load->getPointerOperand()));
  else
    safe |= isSafeToSpeculativelyExecute(instruction);
  for (const Value* operand : instruction->operands()) {
    if (!safe) break;
    if (isa<Function>(operand)) continue;
    safe = in_prologue(operand);
  }
  return in_prologue_[value] = safe;
}

Value* RegionValues::prologue_value(Value* value) {
  if (isa<Constant>(value)) return value;
  if (auto* argument = dyn_cast<Argument>(value)) return made_.getArg(argument->getArgNo());
  Value*& made = prologue_[value];
  if (made) return made;
  Instruction* copy = cast<Instruction>(value)->clone();
  for (Use& operand : copy->operands()) operand.set(prologue_value(operand.get()));
  copy->insertBefore(made_.getEntryBlock().getTerminator());
  return made = copy;
}

// How many instructions computing a value again takes; kTooMuch if it cannot be.
int RegionValues::cost(const Value* value, int depth) {
  if (in_prologue(value) || isa<Argument>(value) || isa<AllocaInst>(value)) return 0;
  if (depth > 0 && slots_.count(value)) return 1;
  const auto& instruction = *cast<Instruction>(value);
  // One copy serves all lanes, so the worst is that it is loaded: an address of a lane is made of
  // its uniform part and the lane's number, which LLVM sees to lie side by side.
  if (depth > 0 && is_uniform(value)) return 1;
  if (!is_repeatable(instruction) || depth > 8) return kTooMuch;
  int total = 1;
  for (const Value* operand : instruction.operands()) {
    if (isa<Function>(operand)) continue;
    total += cost(operand, depth + 1);
    if (total > kMaxCost) return kTooMuch;
  }
  return total;
}

Value* RegionValues::leaf(Scope& scope, Argument& argument) {
  unsigned number = argument.getArgNo();
  if (number == kDispatch || number == kThreadgroup) return made_.getArg(number);
  // Only the linear index is left by fix_shape.
  Value*& made = scope.values[&argument];
  if (made) return made;
  IRBuilder<> builder(scope.top->getTerminator());
  Value* index = builder.CreateShl(scope.simdgroup, builder.getInt64(5), "", true, true);
  // Without a lane only the simdgroup's number is asked for.
  if (scope.lane) index = builder.CreateAdd(index, scope.lane, "thread", true, true);
  return made = builder.CreateTrunc(index, argument.getType());
}

// A private variable is alive wherever an address derived from it is used.
void RegionValues::keep_alive(AllocaInst& variable, Slot& slot) {
  std::vector<Value*> todo = {&variable};
  std::set<Value*> seen;
  while (!todo.empty()) {
    Value* address = todo.back();
    todo.pop_back();
    if (!seen.insert(address).second) continue;
    for (User* user : address->users()) {
      auto* instruction = cast<Instruction>(user);
      if (instruction->getFunction() != &entry_) continue;  // copies that are being made
      table_.note_use(slot, *graph_.of(instruction->getParent()));
      if (isa<GetElementPtrInst>(user) || isa<PHINode>(user) || isa<SelectInst>(user))
        todo.push_back(user);
      else if (const auto* store = dyn_cast<StoreInst>(user);
               (store && store->getValueOperand() == address) || isa<PtrToIntInst>(user))
        slot.always = true;
    }
  }
}

Value* RegionValues::private_address(Scope& scope, AllocaInst& variable) {
  Value*& made = scope.values[&variable];
  if (made) return made;
  Slot*& slot = slots_[&variable];
  if (!slot) {
    const DataLayout& layout = entry_.getParent()->getDataLayout();
    uint64_t bytes = variable.getAllocationSize(layout).value_or(TypeSize::getFixed(0));
    bytes = alignTo(std::max<uint64_t>(bytes, 1), variable.getAlign());
    slot = &table_.add(Slot::Kind::kPrivate, variable.getAllocatedType(), bytes, Level::kLane);
    keep_alive(variable, *slot);
  }
  IRBuilder<> builder(scope.top->getTerminator());
  Value* base =
      table_.address(builder, *slot, scope.simdgroup, *scope.region, SlotTable::Use::kRead);
  Value* offset =
      builder.CreateMul(scope.lane, builder.getInt64(slot->bytes), "", /*NUW=*/true, /*NSW=*/true);
  return made = builder.CreateInBoundsGEP(builder.getInt8Ty(), base, offset);
}

Value* RegionValues::copy_here(Scope& scope, Instruction& instruction) {
  Instruction* copy = instruction.clone();
  for (Use& operand : copy->operands())
    if (!isa<Function>(operand.get())) operand.set(get(scope, operand.get()));
  copy->insertBefore(scope.top->getTerminator());
  return copy;
}

// A value that the scope's own loop over lanes makes: not there yet in the code before the loop.
bool RegionValues::made_inside(const Scope& scope, const Value* original) const {
  const auto* instruction = dyn_cast<Instruction>(original);
  return instruction && !scope.outer->values.count(original) &&
         graph_.of(instruction->getParent()) == scope.region;
}

Value* RegionValues::get(Scope& scope, Value* original) {
  if (isa<Constant>(original) || isa<MetadataAsValue>(original)) return original;
  if (in_prologue(original)) return prologue_value(original);
  if (auto found = scope.values.find(original); found != scope.values.end()) return found->second;
  if (scope.outer && is_uniform(original) && !made_inside(scope, original))
    return get(*scope.outer, original);
  if (auto* argument = dyn_cast<Argument>(original)) return leaf(scope, *argument);
  if (auto* variable = dyn_cast<AllocaInst>(original)) return private_address(scope, *variable);
  auto* instruction = cast<Instruction>(original);
  Value* made = nullptr;
  // Even where it has a slot for the sake of an operation.
  if (cost(original, 0) <= kMaxCost)
    made = copy_here(scope, *instruction);
  else
    made = load_slot(scope, slot_for(original), original);
  return scope.values[original] = made;
}

Slot& RegionValues::slot_for(const Value* original) {
  Slot*& slot = slots_[original];
  if (slot) return *slot;
  Type* type = original->getType();
  const DataLayout& layout = entry_.getParent()->getDataLayout();
  bool uniform = is_uniform(original);
  if (!uniform && type->isIntegerTy())
    type = Type::getIntNTy(type->getContext(),
                           unsigned(PowerOf2Ceil(std::max(8u, type->getIntegerBitWidth()))));
  slot =
      &table_.add(uniform ? Slot::Kind::kUniform : Slot::Kind::kLanes, type,
                  layout.getTypeAllocSize(type), uniform ? uniformity_.of(original) : Level::kLane);
  return *slot;
}

Slot& RegionValues::join_slot_for(const PHINode& phi) {
  Slot& slot = slot_for(&phi);
  if (slot.kind != Slot::Kind::kUniform || slot.level != Level::kThreadgroup ||
      !graph_.of(phi.getParent())->at_threadgroup)
    return slot;
  Slot*& join = join_slots_[&phi];
  if (!join) join = &table_.add(slot.kind, slot.type, slot.bytes, slot.level);
  return *join;
}

Value* RegionValues::load_slot(Scope& scope, Slot& slot, const Value* original) {
  IRBuilder<> builder(scope.top->getTerminator());
  Value* address =
      table_.address(builder, slot, scope.simdgroup, *scope.region, SlotTable::Use::kRead);
  if (slot.kind == Slot::Kind::kLanes)
    address = builder.CreateInBoundsGEP(slot.type, address, scope.lane);
  Value* value = builder.CreateLoad(slot.type, address);
  if (value->getType() != original->getType())
    value = builder.CreateTrunc(value, original->getType());
  return value;
}

void RegionValues::store_slot(IRBuilder<>& builder, Scope& scope, Slot& slot, Value* value) {
  Value* address =
      table_.address(builder, slot, scope.simdgroup, *scope.region, SlotTable::Use::kWrite);
  if (slot.kind == Slot::Kind::kLanes && scope.lane)
    address = builder.CreateInBoundsGEP(slot.type, address, scope.lane);
  if (scope.lane && slot.type != value->getType() && slot.type->isIntegerTy())
    value = builder.CreateZExt(value, slot.type);
  StoreInst* store = builder.CreateStore(value, address);
  if (slot.kind == Slot::Kind::kLanes && !scope.lane) store->setAlignment(Align(64));
}

// All lanes' values of an expression of the lane's number and constants, such as the lane a shuffle
// reads from; null for any other.
Constant* RegionValues::lane_numbers(const Value* original) const {
  auto* instruction = dyn_cast<Instruction>(original);
  if (!instruction || !instruction->getType()->isIntegerTy()) return nullptr;
  const DataLayout& layout = entry_.getParent()->getDataLayout();
  auto of = [&](const Value* operand) -> Constant* {
    if (auto* constant = dyn_cast<ConstantInt>(operand))
      return ConstantVector::getSplat(ElementCount::getFixed(MSL_SIMD_WIDTH),
                                      const_cast<ConstantInt*>(constant));
    return lane_numbers(operand);
  };
  if (match(instruction,
            m_And(m_Specific(entry_.getArg(kThread)), m_SpecificInt(MSL_SIMD_WIDTH - 1)))) {
    SmallVector<Constant*, MSL_SIMD_WIDTH> lanes;
    for (unsigned i = 0; i < MSL_SIMD_WIDTH; ++i)
      lanes.push_back(ConstantInt::get(instruction->getType(), i));
    return ConstantVector::get(lanes);
  }
  if (const auto* operation = dyn_cast<BinaryOperator>(instruction)) {
    Constant* left = of(operation->getOperand(0));
    Constant* right = left ? of(operation->getOperand(1)) : nullptr;
    return right ? ConstantFoldBinaryOpOperands(operation->getOpcode(), left, right, layout)
                 : nullptr;
  }
  return nullptr;
}

Value* RegionValues::get_vector(Scope& scope, Value* original) {
  IRBuilder<> builder(scope.top->getTerminator());
  Type* type = original->getType();
  unsigned parts = 1;
  if (auto* vector = dyn_cast<FixedVectorType>(type)) {
    parts = vector->getNumElements();
    type = vector->getElementType();
  }
  if (is_uniform(original) || in_prologue(original)) {
    Value* one = get(scope, original);
    builder.SetInsertPoint(scope.top->getTerminator());
    if (parts == 1) return builder.CreateVectorSplat(MSL_SIMD_WIDTH, one);
    SmallVector<int, 64> mask;
    for (unsigned i = 0; i < MSL_SIMD_WIDTH * parts; ++i) mask.push_back(int(i % parts));
    return builder.CreateShuffleVector(one, mask);
  }
  if (Constant* numbers = lane_numbers(original)) return numbers;
  if (isa<Argument>(original)) {  // the linear index, which nobody stores
    SmallVector<Constant*, MSL_SIMD_WIDTH> lanes;
    for (unsigned i = 0; i < MSL_SIMD_WIDTH; ++i) lanes.push_back(ConstantInt::get(type, i));
    Value* first = builder.CreateTrunc(builder.CreateShl(scope.simdgroup, 5), type);
    return builder.CreateAdd(builder.CreateVectorSplat(MSL_SIMD_WIDTH, first),
                             ConstantVector::get(lanes));
  }
  if (auto* wider = dyn_cast<ZExtInst>(original); wider && parts == 1) {
    Value* narrow = get_vector(scope, wider->getOperand(0));
    builder.SetInsertPoint(scope.top->getTerminator());
    return builder.CreateZExt(narrow, FixedVectorType::get(type, MSL_SIMD_WIDTH));
  }
  Slot& slot = slot_for(original);
  Value* address =
      table_.address(builder, slot, scope.simdgroup, *scope.region, SlotTable::Use::kRead);
  Type* memory = slot.type->isVectorTy() ? type : slot.type;
  auto* wide = FixedVectorType::get(memory, MSL_SIMD_WIDTH * parts);
  LoadInst* load = builder.CreateLoad(wide, address);
  load->setAlignment(Align(64));
  if (memory == type) return load;
  return builder.CreateTrunc(load, FixedVectorType::get(type, MSL_SIMD_WIDTH * parts));
}

}  // namespace mlxn::msl
