#include "metal/msl/passes/region_emitter.h"

#include <cstddef>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/stage_loads.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;

bool has_full_simdgroups(const Shape& shape) {
  if (shape.kind == Shape::Kind::kExact)
    return shape.size[0] * shape.size[1] * shape.size[2] % MSL_SIMD_WIDTH == 0;
  return shape.kind == Shape::Kind::kFlat32;
}

namespace {

bool has_wide_registers(const Function& entry) {
  return has_feature(entry, "+avx512f");
}

}  // namespace

RegionEmitter::RegionEmitter(Function& entry, Kernel& kernel, const Shape& shape,
                             const RegionGraph& graph, const Uniformity& uniformity, bool masked)
    : entry_(entry),
      kernel_(kernel),
      graph_(graph),
      masked_(masked),
      full_(has_full_simdgroups(shape)),
      lane_variables_(!masked && full_ && has_wide_registers(entry)),
      made_(create_function()),
      prologue_(&made_->getEntryBlock()),
      values_(entry, *made_, graph, uniformity, masked) {
  kernel.tier = masked ? Tier::kMaskedRegions : Tier::kRegions;
  kernel.shape = shape;
  IRBuilder<> builder(prologue_->getTerminator());
  Value* place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), made_->getArg(1),
                                                    offsetof(MslThreadgroup, context));
  LoadInst* context = builder.CreateAlignedLoad(builder.getPtrTy(), place, Align(8), "context");
  context->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(entry.getContext(), {}));
  MDNode* alignment =
      MDNode::get(entry.getContext(), ConstantAsMetadata::get(builder.getInt64(64)));
  context->setMetadata(LLVMContext::MD_align, alignment);
  context_ = context;
  threads_ = count_threads(shape);
  builder.SetInsertPoint(prologue_->getTerminator());
  simdgroups_ = builder.CreateLShr(builder.CreateAdd(threads_, builder.getInt64(31)), 5);
}

Function* RegionEmitter::create_function() {
  LLVMContext& context = entry_.getContext();
  Function* made = create_threadgroup_function(entry_, kernel_);
  BasicBlock* prologue = BasicBlock::Create(context, "prologue", made);
  BasicBlock* start = BasicBlock::Create(context, "start", made);
  BranchInst::Create(start, prologue);
  return made;
}

Value* RegionEmitter::count_threads(const Shape& shape) {
  IRBuilder<> builder(prologue_->getTerminator());
  if (shape.kind == Shape::Kind::kExact)
    return builder.getInt64(uint64_t{shape.size[0]} * shape.size[1] * shape.size[2]);
  Value* product = nullptr;
  unsigned dimensions = shape.kind == Shape::Kind::kFlat32 ? 1 : 3;
  for (unsigned i = 0; i < dimensions; ++i) {
    Value* size = load_group_size(builder, made_->getArg(kThreadgroup), i);
    Value* wide = builder.CreateZExt(size, builder.getInt64Ty());
    product = product ? builder.CreateMul(product, wide, "", true, true) : wide;
  }
  return product;
}

BasicBlock* RegionEmitter::new_block(const Twine& name) {
  return BasicBlock::Create(entry_.getContext(), name, made_);
}

Value* RegionEmitter::lane_count(IRBuilder<>& builder, Value* simdgroup) {
  if (full_) return builder.getInt64(MSL_SIMD_WIDTH);
  Value* before = builder.CreateShl(simdgroup, builder.getInt64(5), "", true, true);
  Value* left = builder.CreateSub(threads_, before, "", true, true);
  return builder.CreateBinaryIntrinsic(Intrinsic::umin, left, builder.getInt64(MSL_SIMD_WIDTH));
}

Value* RegionEmitter::existing_lanes(IRBuilder<>& builder, Value* simdgroup) {
  if (full_) return nullptr;
  Value* count = builder.CreateTrunc(lane_count(builder, simdgroup), builder.getInt32Ty());
  SmallVector<Constant*, MSL_SIMD_WIDTH> numbers;
  for (unsigned i = 0; i < MSL_SIMD_WIDTH; ++i) numbers.push_back(builder.getInt32(i));
  return builder.CreateICmpULT(ConstantVector::get(numbers),
                               builder.CreateVectorSplat(MSL_SIMD_WIDTH, count));
}

// Moves what is the same for all lanes before the loop. Code under a branch moves only if it
// can do no harm there, a load only from the head and over no write.
void RegionEmitter::hoist_uniform(Region& region, Code& code) {
  Scope& before = code.before;
  auto available = [&](Value* operand) {
    auto* instruction = dyn_cast<Instruction>(operand);
    return !instruction || before.values.count(instruction) || isa<AllocaInst>(instruction) ||
           graph_.of(instruction->getParent()) != &region;
  };
  for (BasicBlock* block : region.blocks) {
    bool written = block != region.head;
    for (Instruction& instruction : *block) {
      bool load = isa<LoadInst>(instruction) && !instruction.isAtomic() &&
                  !cast<LoadInst>(instruction).isVolatile();
      bool invariant = load && instruction.hasMetadata(LLVMContext::MD_invariant_load);
      if (instruction.mayWriteToMemory() && !isa<LifetimeIntrinsic>(instruction)) written = true;
      if (!values_.is_uniform(&instruction) || instruction.isTerminator() ||
          instruction.getType()->isVoidTy())
        continue;
      if (isa<PHINode>(instruction)) {
        if (block == region.head)
          before.values[&instruction] =
              values_.load_slot(before, values_.slot_for(&instruction), &instruction);
        continue;
      }
      if (instruction.mayHaveSideEffects() || !all_of(instruction.operands(), available)) continue;
      if (load ? written && !(invariant && block == region.head)
               : instruction.mayReadFromMemory() ||
                     (block != region.head && !isSafeToSpeculativelyExecute(&instruction)))
        continue;
      if (isa<AllocaInst>(instruction)) continue;
      bool unknown = false;
      if (load &&
          (private_variable(cast<LoadInst>(instruction).getPointerOperand(), unknown) || unknown))
        continue;
      Instruction* copy = instruction.clone();
      for (Use& operand : copy->operands())
        if (!isa<Function>(operand.get())) operand.set(values_.get(before, operand.get()));
      copy->insertBefore(before.top->getTerminator());
      before.values[&instruction] = copy;
    }
  }
}

void RegionEmitter::copy_blocks(Region& region, Code& code) {
  for (BasicBlock* block : region.blocks) {
    BasicBlock* copy = new_block(block->getName());
    code.copies[block] = copy;
    for (Instruction& instruction : *block) {
      if (code.before.values.count(&instruction) || isa<LifetimeIntrinsic>(instruction) ||
          isa<AllocaInst>(instruction))
        continue;
      if (isa<PHINode>(instruction) && block == region.head) {
        code.lane.values[&instruction] =
            values_.load_slot(code.lane, values_.slot_for(&instruction), &instruction);
        continue;
      }
      Instruction* clone = instruction.clone();
      clone->insertInto(copy, copy->end());
      code.lane.values[&instruction] = clone;
    }
  }
}

// Lets the copied code use what is right in its place.
void RegionEmitter::redirect(Region& region, Code& code) {
  for (BasicBlock* block : region.blocks) {
    BasicBlock* copy = code.copies[block];
    for (Instruction& instruction : *copy) {
      if (auto* phi = dyn_cast<PHINode>(&instruction))
        for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
          phi->setIncomingBlock(i, code.copies.at(phi->getIncomingBlock(i)));
      for (Use& operand : instruction.operands())
        if (!isa<BasicBlock>(operand.get()) && !isa<Function>(operand.get()))
          operand.set(values_.get(code.lane, operand.get()));
    }
    Instruction* terminator = copy->getTerminator();
    for (unsigned i = 0; i < terminator->getNumSuccessors(); ++i) {
      BasicBlock* next = block->getTerminator()->getSuccessor(i);
      if (auto inside = code.copies.find(next);
          inside != code.copies.end() && next != region.head) {
        terminator->setSuccessor(i, inside->second);
        continue;
      }
      Region& to = *graph_.at(next);
      BasicBlock* leave = new_block("leave");
      terminator->setSuccessor(i, leave);
      IRBuilder<> builder(leave);
      builder.CreateBr(code.latch);
      store_joins(region, code, *block, to);
      builder.SetInsertPoint(leave->getTerminator());
      leave_lane(builder, region, code, to);
    }
  }
}

// Values that join others at the head of `to` go into its slots on the way there.
void RegionEmitter::store_joins(Region& region, Code& code, BasicBlock& from, Region& to) {
  for (PHINode& phi : to.head->phis()) {
    Slot& slot = values_.join_slot_for(phi);
    Value* value = phi.getIncomingValueForBlock(&from);
    slot.joins = &to;
    joined_.push_back({&slot, value});
    if (slot.kind == Slot::Kind::kUniform) {
      // Once after the loop, if every way from this region brings the same value.
      bool same = true;
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i)
        if (graph_.of(phi.getIncomingBlock(i)) == &region && phi.getIncomingValue(i) != value)
          same = false;
      if (same) {
        code.after_stores.push_back({&phi, value});
        continue;
      }
    }
    Value* stored = values_.get(code.lane, value);
    IRBuilder<> builder(code.copies.at(&from)->getTerminator());
    values_.store_slot(builder, code.lane, slot, stored);
  }
}

void RegionEmitter::emit_lanes(Region& region, Code& code, BasicBlock* before, Value* simdgroup) {
  BasicBlock* header = new_block("lanes");
  code.latch = new_block("next_lane");
  BasicBlock* after = new_block("after");
  IRBuilder<> builder(before);
  builder.CreateBr(header);
  code.before = {&region, before, simdgroup, nullptr, nullptr, {}};
  builder.SetInsertPoint(header);
  PHINode* lane = builder.CreatePHI(builder.getInt64Ty(), 2, "lane");
  lane->addIncoming(builder.getInt64(0), before);
  BasicBlock* top = new_block("lane");
  builder.CreateBr(top);
  builder.SetInsertPoint(top);
  Instruction* placeholder = builder.CreateUnreachable();
  code.lane = {&region, top, simdgroup, lane, &code.before, {}};
  code.after = {&region, after, simdgroup, nullptr, &code.before, {}};
  builder.SetInsertPoint(after);
  builder.CreateUnreachable();  // a place to insert before; the caller ends the block

  builder.SetInsertPoint(code.latch);
  Value* next = builder.CreateAdd(lane, builder.getInt64(1), "", true, true);
  IRBuilder<> early(before->getTerminator());
  Value* count = lane_count(early, simdgroup);
  code.back_edge = builder.CreateCondBr(builder.CreateICmpULT(next, count), header, after);
  lane->addIncoming(next, code.latch);

  builder.SetInsertPoint(header->getTerminator());
  enter_lane(builder, region, code, code.latch);
  if (!masked_) hoist_uniform(region, code);
  copy_blocks(region, code);
  builder.SetInsertPoint(placeholder);
  builder.CreateBr(code.copies.at(region.head));
  placeholder->eraseFromParent();
  redirect(region, code);
  // All values are fetched before the first is stored: they may be each other's.
  for (auto& [phi, value] : code.after_stores) value = values_.get(code.after, value);
  builder.SetInsertPoint(after->getTerminator());
  for (auto& [phi, value] : code.after_stores)
    values_.store_slot(builder, code.after, values_.join_slot_for(*phi), value);
}

void RegionEmitter::store_result(const Instruction& original, Slot& slot) {
  Region* region = graph_.of(original.getParent());
  Code& code = code_[region];
  if (region->kind == Region::Kind::kOperation) {
    if (masked_) return;  // stored for its active lanes only, by the operation itself
    IRBuilder<> builder(code.before.top->getTerminator());
    values_.store_slot(builder, code.before, slot, code.result);
    return;
  }
  bool hoisted = code.before.values.count(&original) > 0;
  Scope& scope = hoisted ? code.before : code.lane;
  Value* value = scope.values.at(&original);
  auto* made = dyn_cast<Instruction>(value);
  IRBuilder<> builder(scope.top->getTerminator());
  // Before the loop over lanes, values are stored when all are made: nothing stands between
  // products of matrices.
  if (made && !hoisted) {
    BasicBlock::iterator place = std::next(made->getIterator());
    if (isa<PHINode>(made)) place = made->getParent()->getFirstInsertionPt();
    builder.SetInsertPoint(made->getParent(), place);
  }
  values_.store_slot(builder, scope, slot, value);
}

// Tells the vectoriser that lanes do not depend on each other's memory. Loops over lanes are not
// to be unrolled before it has seen them. Those it has made vectors of are, where lane values are
// local variables: without the loop, these become registers.
void RegionEmitter::mark_parallel(const Region& region, Code& code) {
  LLVMContext& context = entry_.getContext();
  constexpr unsigned kMostAtOnce = 400;
  unsigned size = 0;
  MDNode* group = MDNode::getDistinct(context, {});
  auto mark = [&](BasicBlock& block) {
    for (Instruction& instruction : block) {
      ++size;
      if (!instruction.mayReadOrWriteMemory()) continue;
      Value* pointer = getLoadStorePointerOperand(&instruction);
      auto* variable = pointer ? dyn_cast<AllocaInst>(getUnderlyingObject(pointer, 0)) : nullptr;
      if (variable && !values_.table().holds_lanes(*variable)) continue;
      instruction.setMetadata(LLVMContext::MD_access_group, group);
    }
  };
  mark(*code.lane.top);
  for (auto& [original, copy] : code.copies) mark(*copy);
  auto property = [&](const char* name, Metadata* value) {
    SmallVector<Metadata*, 2> parts = {MDString::get(context, name)};
    if (value) parts.push_back(value);
    return MDNode::get(context, parts);
  };
  SmallVector<Metadata*, 6> properties = {nullptr, property("llvm.loop.parallel_accesses", group),
                                          property("llvm.loop.mustprogress", nullptr),
                                          property("llvm.loop.unroll.disable", nullptr)};
  if (staged_.count(region.head)) properties.push_back(property(kStagedLoop, nullptr));
  if (lane_variables_ && size < kMostAtOnce) {
    Type* i32 = Type::getInt32Ty(context);
    Metadata* parts[] = {
        MDString::get(context, "llvm.loop.vectorize.followup_vectorized"),
        property("llvm.loop.isvectorized", ConstantAsMetadata::get(ConstantInt::get(i32, 1))),
        property("llvm.loop.unroll.full", nullptr)};
    properties.push_back(MDNode::get(context, parts));
  }
  MDNode* id = MDNode::getDistinct(context, properties);
  id->replaceOperandWith(0, id);
  code.back_edge->setMetadata(LLVMContext::MD_loop, id);
}

void RegionEmitter::finish() {
  for (const auto& [original, slot] : values_.slots()) {
    const auto* instruction = dyn_cast<Instruction>(original);
    if (!instruction || isa<AllocaInst>(instruction)) continue;
    Region* region = graph_.of(instruction->getParent());
    if (isa<PHINode>(instruction) && instruction->getParent() == region->head) continue;
    store_result(*instruction, *slot);
  }
  for (auto [slot, value] : joined_)
    if (auto from = values_.slots().find(value); from != values_.slots().end())
      values_.table().prefer_same(*slot, *from->second);
  values_.table().place(graph_, {/*together=*/!masked_, lane_variables_}, context_, kernel_);
  for (const auto& region : graph_.regions())
    if (code_[region.get()].back_edge) mark_parallel(*region, code_[region.get()]);
}

}  // namespace mlxn::msl
