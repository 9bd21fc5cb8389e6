// Tier 1. All lanes of a simdgroup take the same way between regions, and all simdgroups the same
// way between barriers, so control flow is kept once:
//
//   for each phase (from barrier to barrier)
//     for each simdgroup
//       regions (loops over lanes), operations and uniform branches of the phase
#include "metal/msl/passes/uniform_regions.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "metal/msl/passes/converge_loops.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/lane_strides.h"
#include "metal/msl/passes/region_emitter.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

class UniformRegions : public RegionEmitter {
 public:
  UniformRegions(Function& entry, Kernel& kernel, const Shape& shape, const RegionGraph& graph,
                 const Uniformity& uniformity, std::set<BasicBlock*> staged)
      : RegionEmitter(entry, kernel, shape, graph, uniformity, /*masked=*/false) {
    staged_ = std::move(staged);
  }

  void run() {
    for (const auto& region : graph_.regions()) open(*region);
    BasicBlock* start = prologue_->getSingleSuccessor();
    BranchInst::Create(outer_entry(*graph_.entry()), start);
    for (const auto& region : graph_.regions()) emit(*region);
    finish();
  }

 private:
  // The loop over simdgroups of a phase.
  struct Phase {
    BasicBlock* before;
    BasicBlock* latch;
    PHINode* simdgroup;
    Region* next = nullptr;
  };

  static bool is_single(const Region& region) {  // runs once for the threadgroup
    return region.at_threadgroup &&
           (region.kind == Region::Kind::kBarrier || region.kind == Region::Kind::kReturn ||
            region.kind == Region::Kind::kBranch);
  }

  void open(Region& region) {
    blocks_[&region] = new_block(region.head->getName());
    if (!region.at_threadgroup || is_single(region)) return;
    BasicBlock* before = new_block("phase");
    BasicBlock* header = new_block("simdgroups");
    IRBuilder<> builder(before);
    builder.CreateBr(header);
    builder.SetInsertPoint(header);
    PHINode* simdgroup = builder.CreatePHI(builder.getInt64Ty(), 2, "simdgroup");
    simdgroup->addIncoming(builder.getInt64(0), before);
    builder.CreateBr(blocks_[&region]);
    BasicBlock* latch = new_block("next_simdgroup");
    phases_[&region] = {before, latch, simdgroup};
  }

  BasicBlock* outer_entry(Region& region) {
    return is_single(region) ? blocks_[&region] : phases_.at(&region).before;
  }

  // Where control goes from one region to the next.
  BasicBlock* way(Region& from, Region& to) {
    if (!to.at_threadgroup) return blocks_[&to];
    if (is_single(from)) return outer_entry(to);
    Phase& phase = phases_.at(from.phase);
    if (!phase.next) {
      phase.next = &to;
      IRBuilder<> builder(phase.latch);
      Value* next = builder.CreateAdd(phase.simdgroup, builder.getInt64(1), "", true, true);
      phase.simdgroup->addIncoming(next, phase.latch);
      builder.CreateCondBr(builder.CreateICmpULT(next, simdgroups_), phase.simdgroup->getParent(),
                           outer_entry(to));
    }
    return phase.latch;
  }

  void emit(Region& region) {
    Code& code = code_[&region];
    BasicBlock* block = blocks_[&region];
    Value* simdgroup = is_single(region) ? nullptr : phases_.at(region.phase).simdgroup;
    if (auto phase = phases_.find(&region); phase != phases_.end())
      take_joins(region, phase->second.before);
    if (region.kind == Region::Kind::kLanes) {
      emit_lanes(region, code, block, simdgroup);
      replace_end(code.after.top, BranchInst::Create(way(region, *region.next[0])));
      return;
    }
    new UnreachableInst(entry_.getContext(), block);
    code.before = {&region, block, simdgroup, nullptr, nullptr, {}};
    switch (region.kind) {
      case Region::Kind::kReturn:
        replace_end(block, ReturnInst::Create(entry_.getContext()));
        break;
      case Region::Kind::kBranch: {
        auto* branch = cast<BranchInst>(region.head->getTerminator());
        Value* condition = values_.get(code.before, branch->getCondition());
        replace_end(
            block, BranchInst::Create(way(region, *graph_.at(branch->getSuccessor(0))),
                                      way(region, *graph_.at(branch->getSuccessor(1))), condition));
        break;
      }
      case Region::Kind::kOperation: run_operation(region, code); [[fallthrough]];
      default: replace_end(block, BranchInst::Create(way(region, *region.next[0])));
    }
  }

  // As a phase begins, what came from the phase before becomes the current value.
  void take_joins(Region& region, BasicBlock* before) {
    Scope scope = {&region, before, nullptr, nullptr, nullptr, {}};
    for (PHINode& phi : region.head->phis()) {
      Slot& from = values_.join_slot_for(phi);
      Slot& to = values_.slot_for(&phi);
      if (&from == &to) continue;
      Value* value = values_.load_slot(scope, from, &phi);
      IRBuilder<> builder(before->getTerminator());
      values_.store_slot(builder, scope, to, value);
    }
  }

  void run_operation(Region& region, Code& code) {
    CallInst& call = *region.call();
    if (is_tile_operation(call)) {
      run_tile_operation(call, code);
      return;
    }
    LaneOperation operation = lane_operation(call);
    SmallVector<Value*, 4> operands;
    for (unsigned i = 0; i < operation.operands; ++i)
      operands.push_back(values_.get_vector(code.before, call.getArgOperand(i)));
    IRBuilder<> builder(code.before.top->getTerminator());
    Value* active = existing_lanes(builder, code.before.simdgroup);
    code.result = emit_lane_operation(builder, call, operands, active);
    // A shuffle that reads one lane for all has one value.
    if (code.result && code.result->getType()->isVectorTy() && values_.is_uniform(&call) &&
        !call.getType()->isVectorTy())
      code.result = builder.CreateExtractElement(code.result, uint64_t{0});
  }

  // A matrix is loaded and stored, and collected from the lanes, once for the simdgroup.
  void run_tile_operation(CallInst& call, Code& code) {
    SmallVector<Value*, 4> operands;
    for (Value* operand : call.args())
      operands.push_back(tile_call(call) == TileCall::kFromLanes
                             ? values_.get_vector(code.before, operand)
                             : values_.get(code.before, operand));
    IRBuilder<> builder(code.before.top->getTerminator());
    code.result = emit_tile_operation(builder, call, operands);
  }

  static void replace_end(BasicBlock* block, Instruction* end) {
    block->getTerminator()->eraseFromParent();
    end->insertInto(block, block->end());
  }

  std::map<const Region*, BasicBlock*> blocks_;
  std::map<const Region*, Phase> phases_;
};

}  // namespace

namespace {

// Loops whose lanes stay together anyway and gain from running side by side; those that gain by
// staging go into `staged`.
std::set<BasicBlock*> uniform_loops(Function& entry, const Uniformity& uniformity, bool full,
                                    std::set<BasicBlock*>& staged) {
  DominatorTree dominators(entry);
  LoopInfo loops(dominators);
  LaneStrides strides(entry, uniformity);
  std::set<BasicBlock*> found;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (uniformity.control(*loop->getHeader()) == Level::kLane) continue;
    SmallVector<BasicBlock*, 4> exiting;
    loop->getExitingBlocks(exiting);
    bool together = all_of(
        exiting, [&](BasicBlock* block) { return uniformity.of_branch(*block) < Level::kLane; });
    if (!together) continue;
    if (strides.is_worth_vectorising(*loop))
      found.insert(loop->getHeader());
    else if (full && strides.is_worth_staging(*loop))
      staged.insert(loop->getHeader());
  }
  return found;
}

}  // namespace

std::optional<Refusal> build_uniform_regions(Function& entry, Kernel& kernel, const Shape& shape) {
  const bool full = has_full_simdgroups(shape);
  std::set<BasicBlock*> staged = converge_loops(entry, full);
  normalise_for_regions(entry);
  Uniformity uniformity(entry, full);
  std::set<BasicBlock*> heads = uniform_loops(entry, uniformity, full, staged);
  heads.insert(staged.begin(), staged.end());
  RegionGraph graph;
  if (auto refusal = graph.split_uniform(entry, uniformity, heads)) return refusal;
  UniformRegions(entry, kernel, shape, graph, uniformity, std::move(staged)).run();
  return std::nullopt;
}

}  // namespace mlxn::msl
