// Tier 2. Each lane has a program counter: the number of the region it waits to enter. A simdgroup
// runs, again and again, the region with the lowest number any of its lanes waits for:
//
//   code of lanes first  (lanes that can go on do so before any operation fires)
//   operations by site   (the lowest site fires for the lanes that wait there)
//   barriers             (the simdgroup rests; when all rest, barriers open)
//   done
//
// which is exactly the rule of the coroutine tier, see kernel_abi.h.
#include "metal/msl/passes/masked_regions.h"

#include "llvm/IR/CFG.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/region_emitter.h"
#include "metal/msl/passes/simdgroup_ops.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

class MaskedRegions : public RegionEmitter {
 public:
  MaskedRegions(Function& entry, Kernel& kernel, const Shape& shape, const RegionGraph& graph,
                const Uniformity& uniformity)
      : RegionEmitter(entry, kernel, shape, graph, uniformity, /*masked=*/true),
        counter_type_(Type::getInt16Ty(entry.getContext())),
        counter_slot_(values_.table().add(Slot::Kind::kLanes, counter_type_, 2, Level::kLane)) {}

  void run() {
    counter_slot_.always = true;
    number_regions();
    BasicBlock* start = prologue_->getSingleSuccessor();
    BasicBlock* phase = new_block("phase");
    BasicBlock* finished = new_block("finished");
    BasicBlock* after = begin_threads(start);
    BranchInst::Create(phase, after);
    // One phase: every simdgroup up to the next barrier.
    BasicBlock* header = new_block("simdgroups");
    BasicBlock* rest = new_block("next_simdgroup");
    IRBuilder<> builder(phase);
    builder.CreateBr(header);
    builder.SetInsertPoint(header);
    simdgroup_ = builder.CreatePHI(builder.getInt64Ty(), 2, "simdgroup");
    simdgroup_->addIncoming(builder.getInt64(0), phase);
    choose_ = new_block("choose");
    builder.CreateBr(choose_);
    emit_choice(rest);
    builder.SetInsertPoint(rest);
    Value* next = builder.CreateAdd(simdgroup_, builder.getInt64(1), "", true, true);
    simdgroup_->addIncoming(next, rest);
    BasicBlock* opened = new_block("open_barriers");
    builder.CreateCondBr(builder.CreateICmpULT(next, simdgroups_), header, opened);
    open_barriers(opened, phase, finished);
    IRBuilder<>(finished).CreateRetVoid();
    finish();
  }

 private:
  void number_regions() {
    unsigned next = 0;
    for (const auto& region : graph_.regions())
      if (region->kind == Region::Kind::kLanes) numbers_[region.get()] = next++;
    // Calls of one site and kind, which loop unrolling may have multiplied, are one operation.
    std::map<std::pair<unsigned, unsigned>, std::vector<Region*>> sites;
    for (const auto& region : graph_.regions())
      if (region->kind == Region::Kind::kOperation)
        sites[{site_of(*region->call()), lane_operation(*region->call()).word}].push_back(
            region.get());
    for (auto& [site, group] : sites) {
      operations_.push_back(group);
      for (Region* region : group) numbers_[region] = next++;
    }
    for (const auto& region : graph_.regions())
      if (region->kind == Region::Kind::kBarrier) numbers_[region.get()] = next++;
    done_ = next;
    for (const auto& region : graph_.regions())
      if (region->kind == Region::Kind::kReturn) numbers_[region.get()] = done_;
  }

  Constant* number(const Region& region) {
    return ConstantInt::get(counter_type_, numbers_.at(&region));
  }
  Constant* vector_of(unsigned value) {
    return ConstantVector::getSplat(ElementCount::getFixed(MSL_SIMD_WIDTH),
                                    ConstantInt::get(counter_type_, value));
  }
  Type* counters_type() { return FixedVectorType::get(counter_type_, MSL_SIMD_WIDTH); }

  Value* counters_address(IRBuilder<>& builder, Value* simdgroup) {
    return values_.table().address(builder, counter_slot_, simdgroup, *graph_.entry(),
                                   SlotTable::Use::kRead);
  }
  Value* load_counters(IRBuilder<>& builder, Value* simdgroup) {
    return builder.CreateAlignedLoad(counters_type(), counters_address(builder, simdgroup),
                                     Align(64));
  }
  void store_counters(IRBuilder<>& builder, Value* simdgroup, Value* counters) {
    builder.CreateAlignedStore(counters, counters_address(builder, simdgroup), Align(64));
  }

  // A loop over all simdgroups; `body` writes what it does. Returns the open block behind it.
  template <class Body>
  BasicBlock* for_each_simdgroup(BasicBlock* before, const char* name, Body body) {
    BasicBlock* header = new_block(name);
    BasicBlock* after = new_block("");
    IRBuilder<> builder(before);
    builder.CreateBr(header);
    builder.SetInsertPoint(header);
    PHINode* simdgroup = builder.CreatePHI(builder.getInt64Ty(), 2);
    simdgroup->addIncoming(builder.getInt64(0), before);
    body(builder, simdgroup);
    Value* next = builder.CreateAdd(simdgroup, builder.getInt64(1), "", true, true);
    simdgroup->addIncoming(next, builder.GetInsertBlock());
    builder.CreateCondBr(builder.CreateICmpULT(next, simdgroups_), header, after);
    return after;
  }

  // Every thread that exists waits for the first region.
  BasicBlock* begin_threads(BasicBlock* start) {
    return for_each_simdgroup(start, "begin", [&](IRBuilder<>& builder, Value* simdgroup) {
      Value* first = vector_of(numbers_.at(graph_.entry()));
      if (Value* exists = existing_lanes(builder, simdgroup))
        first = builder.CreateSelect(exists, first, vector_of(done_));
      store_counters(builder, simdgroup, first);
    });
  }

  void emit_choice(BasicBlock* rest) {
    IRBuilder<> builder(choose_);
    Value* counters = load_counters(builder, simdgroup_);
    Value* lowest = builder.CreateIntMinReduce(counters, /*IsSigned=*/false);
    SwitchInst* choice = builder.CreateSwitch(lowest, rest, unsigned(numbers_.size()));
    for (const auto& region : graph_.regions()) {
      if (region->kind != Region::Kind::kLanes) continue;
      BasicBlock* block = new_block(region->head->getName());
      choice->addCase(cast<ConstantInt>(number(*region)), block);
      Code& code = code_[region.get()];
      emit_lanes(*region, code, block, simdgroup_);
      code.after.top->getTerminator()->eraseFromParent();
      BranchInst::Create(choose_, code.after.top);
    }
    for (const std::vector<Region*>& group : operations_) {
      BasicBlock* block = new_block(group[0]->head->getName());
      for (Region* region : group) choice->addCase(cast<ConstantInt>(number(*region)), block);
      emit_operation(group, block);
    }
  }

  void enter_lane(IRBuilder<>& builder, Region& region, Code& code, BasicBlock* skip) override {
    Value* place = builder.CreateInBoundsGEP(
        counter_type_, counters_address(builder, code.lane.simdgroup), code.lane.lane);
    Value* counter = builder.CreateLoad(counter_type_, place);
    Value* waits = builder.CreateICmpEQ(counter, number(region));
    BasicBlock* header = builder.GetInsertBlock();
    Instruction* old = header->getTerminator();
    builder.CreateCondBr(waits, code.lane.top, skip);
    old->eraseFromParent();
  }

  void leave_lane(IRBuilder<>& builder, Region&, Code& code, Region& next) override {
    Value* place = builder.CreateInBoundsGEP(
        counter_type_, counters_address(builder, code.lane.simdgroup), code.lane.lane);
    builder.CreateStore(number(next), place);
  }

  // One operation for the lanes that wait at any of the group's calls.
  void emit_operation(const std::vector<Region*>& group, BasicBlock* block) {
    new UnreachableInst(entry_.getContext(), block);
    IRBuilder<> builder(block->getTerminator());
    Value* counters = load_counters(builder, simdgroup_);
    Value* active = nullptr;
    std::vector<Value*> waits;
    for (Region* region : group) {
      Value* here = builder.CreateICmpEQ(counters, vector_of(numbers_.at(region)));
      waits.push_back(here);
      active = active ? builder.CreateOr(active, here) : here;
    }
    LaneOperation operation = lane_operation(*group[0]->call());
    SmallVector<Value*, 4> operands;
    for (unsigned i = 0; i < operation.operands; ++i) {
      Value* merged = nullptr;
      for (size_t g = 0; g < group.size(); ++g) {
        Code& code = code_[group[g]];
        code.before = {group[g], block,   simdgroup_,
                       nullptr,  nullptr, std::move(code.before.values)};
        Value* own = values_.get_vector(code.before, group[g]->call()->getArgOperand(i));
        builder.SetInsertPoint(block->getTerminator());
        merged =
            merged ? builder.CreateSelect(each_part(builder, waits[g], own), own, merged) : own;
      }
      operands.push_back(merged);
    }
    Value* result = emit_lane_operation(builder, *group[0]->call(), operands, active);
    for (size_t g = 0; g < group.size(); ++g) {
      Region* region = group[g];
      if (result && !region->call()->use_empty()) store_active(builder, *region, result, waits[g]);
      counters = builder.CreateSelect(waits[g], vector_of(numbers_.at(region->next[0])), counters);
    }
    store_counters(builder, simdgroup_, counters);
    builder.CreateBr(choose_);
    block->getTerminator()->eraseFromParent();
  }

  // A mask over lanes, repeated for each part of a lane's value.
  Value* each_part(IRBuilder<>& builder, Value* mask, Value* like) {
    unsigned parts =
        cast<FixedVectorType>(like->getType())->getNumElements() / unsigned{MSL_SIMD_WIDTH};
    if (parts == 1) return mask;
    SmallVector<int, 64> order;
    for (unsigned i = 0; i < MSL_SIMD_WIDTH * parts; ++i) order.push_back(int(i / parts));
    return builder.CreateShuffleVector(mask, order);
  }

  void store_active(IRBuilder<>& builder, Region& region, Value* result, Value* active) {
    Slot& slot = values_.slot_for(region.call());
    if (!result->getType()->isVectorTy())
      result = builder.CreateVectorSplat(MSL_SIMD_WIDTH, result);
    Value* place =
        values_.table().address(builder, slot, simdgroup_, region, SlotTable::Use::kWrite);
    Value* old = builder.CreateAlignedLoad(result->getType(), place, Align(64));
    Value* stored = builder.CreateSelect(each_part(builder, active, result), result, old);
    builder.CreateAlignedStore(stored, place, Align(64));
  }

  // Lets all threads that wait at a barrier go on; ends the threadgroup when there are none.
  void open_barriers(BasicBlock* block, BasicBlock* phase, BasicBlock* finished) {
    AllocaInst* waiting = nullptr;
    {
      IRBuilder<> builder(prologue_->getTerminator());
      waiting = builder.CreateAlloca(builder.getInt1Ty());
    }
    IRBuilder<> first(block);
    first.CreateStore(first.getFalse(), waiting);
    BasicBlock* after =
        for_each_simdgroup(block, "open", [&](IRBuilder<>& builder, Value* simdgroup) {
          Value* counters = load_counters(builder, simdgroup);
          Value* waits = builder.CreateICmpNE(counters, vector_of(done_));
          Value* any = builder.CreateOrReduce(waits);
          builder.CreateStore(
              builder.CreateOr(builder.CreateLoad(builder.getInt1Ty(), waiting), any), waiting);
          Value* opened = counters;
          for (const auto& region : graph_.regions())
            if (region->kind == Region::Kind::kBarrier)
              opened = builder.CreateSelect(
                  builder.CreateICmpEQ(counters, vector_of(numbers_.at(region.get()))),
                  vector_of(numbers_.at(region->next[0])), opened);
          store_counters(builder, simdgroup, opened);
        });
    IRBuilder<> last(after);
    last.CreateCondBr(last.CreateLoad(last.getInt1Ty(), waiting), phase, finished);
  }

  Type* counter_type_;
  Slot& counter_slot_;
  std::map<const Region*, unsigned> numbers_;
  std::vector<std::vector<Region*>> operations_;
  unsigned done_ = 0;
  PHINode* simdgroup_ = nullptr;
  BasicBlock* choose_ = nullptr;
};

}  // namespace

void build_masked_regions(Function& entry, Kernel& kernel, const Shape& shape) {
  normalise_for_regions(entry);
  Uniformity uniformity(entry, /*full=*/false);
  RegionGraph graph;
  graph.split_masked(entry);
  MaskedRegions(entry, kernel, shape, graph, uniformity).run();
}

}  // namespace mlxn::msl
