#include "metal/msl/passes/stage_loads.h"

#include <map>
#include <vector>

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/load_runs.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Elements that are loaded at once.
struct Part {
  const LoadRun* run;
  unsigned first, count;  // a power of two

  LoadInst& load() const { return *run->elements[first].front(); }
};

// Parts that are stored at once, the longest ones first: each lane has so many elements, a power of
// two, beside those of its neighbours.
struct Unit {
  Type* type;
  std::vector<Part> parts;
  unsigned count = 0;
};

std::vector<Unit> units_of(const std::vector<LoadRun>& runs) {
  constexpr unsigned kMostElements = 8, kMostBytes = 16;
  MapVector<Type*, std::vector<Part>> by_type;
  for (unsigned count : {8u, 4u, 2u, 1u})
    for (const LoadRun& run : runs)
      for (unsigned first = 0; first < run.elements.size(); first += part_of_run(run, first))
        if (part_of_run(run, first) == count) by_type[run.type].push_back({&run, first, count});
  std::vector<Unit> units;
  for (auto& [type, parts] : by_type) {
    const unsigned most =
        std::min<unsigned>(kMostElements, kMostBytes * 8 / type->getScalarSizeInBits());
    unsigned left = 0;
    for (const Part& part : parts) left += part.count;
    // Powers of two in falling order fill every greater power of two exactly.
    for (auto part = parts.begin(); part != parts.end();) {
      Unit unit{type, {}};
      const unsigned size = std::min(most, llvm::bit_floor(left));
      for (; unit.count < size; ++part) {
        unit.parts.push_back(*part);
        unit.count += part->count;
      }
      left -= size;
      units.push_back(std::move(unit));
    }
  }
  return units;
}

// Memory for what is staged. Loops follow one another, so each may use all of it.
class StagePool {
 public:
  AllocaInst* take(Function& function, Type* type, unsigned used) {
    auto& all = by_type_[type];
    if (used == all.size()) {
      IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
      all.push_back(b.CreateAlloca(type));
      all.back()->setAlignment(Align(64));
    }
    return all[used];
  }

 private:
  std::map<Type*, std::vector<AllocaInst*>> by_type_;
};

class Stager {
 public:
  Stager(Loop& loop, ScalarEvolution& evolution, AAResults& aliases)
      : loop_(loop), block_(*loop.getHeader()), evolution_(evolution), aliases_(aliases) {}

  // Whether it is a loop over the lanes of a simdgroup with loads to be staged.
  bool find() {
    if (!findStringMetadataForLoop(&loop_, kStagedLoop) || loop_.getNumBlocks() != 1 ||
        !loop_.getLoopPreheader() || !loop_.isAnnotatedParallel() ||
        evolution_.getSmallConstantTripCount(&loop_) != MSL_SIMD_WIDTH)
      return false;
    lane_ = loop_.getCanonicalInductionVariable();
    if (!lane_ || &*block_.phis().begin() != lane_ ||
        lane_->getNextNode() != block_.getFirstNonPHI())
      return false;
    SmallVector<LoadInst*, 32> loads;
    for (Instruction& instruction : block_)
      if (auto* load = dyn_cast<LoadInst>(&instruction); load && is_apart(*load)) {
        if (!can_move(*load)) return false;
        loads.push_back(load);
      }
    runs_ = find_load_runs(loads);
    return !runs_.empty();
  }

  void run(StagePool& pool) {
    BasicBlock* before = loop_.getLoopPreheader();
    BasicBlock* stage =
        BasicBlock::Create(block_.getContext(), "stage", block_.getParent(), &block_);
    BasicBlock* staged =
        BasicBlock::Create(block_.getContext(), "staged", block_.getParent(), &block_);
    before->getTerminator()->replaceSuccessorWith(&block_, stage);
    block_.replacePhiUsesWith(before, staged);
    IRBuilder<> b(stage);
    PHINode* lane = b.CreatePHI(lane_->getType(), 2, "lane");
    copies_[lane_] = lane;
    std::map<Type*, unsigned> used;
    for (const Unit& unit : units_of(runs_)) {
      Type* type = ArrayType::get(unit.type, unit.count * MSL_SIMD_WIDTH);
      move(b, unit, *pool.take(*block_.getParent(), type, used[type]++));
    }
    Value* next = b.CreateAdd(lane, ConstantInt::get(lane->getType(), 1), "", true, true);
    lane->addIncoming(ConstantInt::get(lane->getType(), 0), before);
    lane->addIncoming(next, stage);
    Value* more = b.CreateICmpULT(next, ConstantInt::get(lane->getType(), MSL_SIMD_WIDTH));
    BranchInst* again = b.CreateCondBr(more, stage, staged);
    MDNode* disabled = property("llvm.loop.vectorize.enable", b.getFalse());
    MDNode* id = MDNode::getDistinct(b.getContext(), {nullptr, disabled});
    id->replaceOperandWith(0, id);
    again->setMetadata(LLVMContext::MD_loop, id);
    BranchInst::Create(&block_, staged);
    addStringMetadataToLoop(&loop_, "llvm.loop.vectorize.width", kVector);
    for (LoadInst* load : dead_) load->eraseFromParent();
  }

 private:
  static constexpr unsigned kVector = 16;
  static constexpr unsigned kMaxStride = 4;  // in elements: vectors of these are loaded as they are

  MDNode* property(const char* name, Constant* value) {
    LLVMContext& context = block_.getContext();
    return MDNode::get(context, {MDString::get(context, name), ConstantAsMetadata::get(value)});
  }

  // Neighbouring lanes load neither the same element nor ones close to each other.
  bool is_apart(const LoadInst& load) {
    Type* type = load.getType();
    const unsigned bits = type->getPrimitiveSizeInBits();
    if (!load.isSimple() || type->isVectorTy() || type->isPointerTy() ||
        (bits != 8 && bits != 16 && bits != 32))
      return false;
    const SCEV* address = evolution_.getSCEV(const_cast<Value*>(load.getPointerOperand()));
    if (evolution_.isLoopInvariant(address, &loop_)) return false;
    const auto* moving = dyn_cast<SCEVAddRecExpr>(address);
    if (!moving || moving->getLoop() != &loop_ || !moving->isAffine()) return true;
    const auto* step = dyn_cast<SCEVConstant>(moving->getStepRecurrence(evolution_));
    return !step || step->getAPInt().abs().ugt(kMaxStride * (bits / 8));
  }

  // The load and what its address is made from can be done before all else of the round.
  bool can_move(LoadInst& load) {
    constexpr unsigned kMost = 64;
    SmallVector<Instruction*, 16> todo = {&load};
    SmallPtrSet<Instruction*, 32> seen;
    while (!todo.empty()) {
      Instruction* next = todo.pop_back_val();
      if (next == lane_ || next->getParent() != &block_ || !seen.insert(next).second) continue;
      if (seen.size() > kMost || isa<PHINode>(next)) return false;
      if (auto* source = dyn_cast<LoadInst>(next)) {
        if (!source->isSimple() || is_written_before(*source)) return false;
      } else if (next->mayReadOrWriteMemory() || next->mayHaveSideEffects() ||
                 isa<AllocaInst>(next)) {
        return false;
      }
      for (Value* operand : next->operands())
        if (auto* source = dyn_cast<Instruction>(operand)) todo.push_back(source);
    }
    return true;
  }

  bool is_written_before(LoadInst& load) {
    for (Instruction& earlier : block_) {
      if (&earlier == &load) return false;
      if (earlier.mayWriteToMemory() &&
          isModSet(aliases_.getModRefInfo(&earlier, MemoryLocation::get(&load))))
        return true;
    }
    return false;
  }

  // The value as the loop that stages makes it.
  Value* copy(IRBuilder<>& b, Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    if (!instruction || instruction->getParent() != &block_) return value;
    if (Value* known = copies_.lookup(instruction)) return known;
    SmallVector<Value*, 4> operands;
    for (Value* operand : instruction->operands()) operands.push_back(copy(b, operand));
    Instruction* made = instruction->clone();
    for (unsigned i = 0; i < operands.size(); ++i) made->setOperand(i, operands[i]);
    made->setMetadata(LLVMContext::MD_access_group, nullptr);
    b.Insert(made);
    return copies_[instruction] = made;
  }

  // What a lane loads for a unit, from its parts in order.
  Value* load(IRBuilder<>& b, const Unit& unit) {
    SmallVector<Value*, 8> values;
    for (const Part& part : unit.parts) {
      LoadInst& original = part.load();
      Type* type = part.count == 1 ? unit.type : FixedVectorType::get(unit.type, part.count);
      Value* from = copy(b, original.getPointerOperand());
      values.push_back(b.CreateAlignedLoad(type, from, original.getAlign()));
    }
    if (values.size() == 1) return values.front();
    Value* whole = PoisonValue::get(FixedVectorType::get(unit.type, unit.count));
    unsigned place = 0;
    for (Value* value : values) {
      auto* vector = dyn_cast<FixedVectorType>(value->getType());
      if (!vector) {
        whole = b.CreateInsertElement(whole, value, uint64_t{place++});
        continue;
      }
      SmallVector<int, 8> widen(unit.count, PoisonMaskElem), blend;
      for (unsigned i = 0; i < unit.count; ++i) blend.push_back(int(i));
      for (unsigned i = 0; i < vector->getNumElements(); ++i, ++place) {
        widen[i] = int(i);
        blend[place] = int(unit.count + i);
      }
      whole = b.CreateShuffleVector(whole, b.CreateShuffleVector(value, widen), blend);
    }
    return whole;
  }

  void move(IRBuilder<>& b, const Unit& unit, AllocaInst& stage) {
    const uint64_t size = unit.type->getScalarSizeInBits() / 8;
    auto place = [&](IRBuilder<>& at, Value* lane, unsigned element) {
      Type* type = lane->getType();
      Value* index = at.CreateMul(lane, ConstantInt::get(type, unit.count), "", true, true);
      index = at.CreateAdd(index, ConstantInt::get(type, element), "", true, true);
      return at.CreateInBoundsGEP(unit.type, &stage, index);
    };
    Value* loaded = load(b, unit);
    b.CreateAlignedStore(loaded, place(b, copies_[lane_], 0), Align(size * unit.count));
    unsigned element = 0;
    for (const Part& part : unit.parts)
      for (unsigned i = 0; i < part.count; ++i, ++element)
        for (LoadInst* load : part.run->elements[part.first + i]) {
          IRBuilder<> at(load);
          LoadInst* found = at.CreateAlignedLoad(unit.type, place(at, lane_, element), Align(size));
          found->copyMetadata(*load, {LLVMContext::MD_access_group});
          load->replaceAllUsesWith(found);
          dead_.push_back(load);
        }
  }

  Loop& loop_;
  BasicBlock& block_;
  ScalarEvolution& evolution_;
  AAResults& aliases_;
  PHINode* lane_ = nullptr;
  std::vector<LoadRun> runs_;
  DenseMap<Instruction*, Value*> copies_;
  std::vector<LoadInst*> dead_;
};

}  // namespace

PreservedAnalyses StageLoads::run(Function& function, FunctionAnalysisManager& manager) {
  auto& loops = manager.getResult<LoopAnalysis>(function);
  auto& evolution = manager.getResult<ScalarEvolutionAnalysis>(function);
  auto& aliases = manager.getResult<AAManager>(function);
  std::vector<Stager> found;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    Stager stager(*loop, evolution, aliases);
    if (stager.find()) found.push_back(std::move(stager));
  }
  StagePool pool;
  for (Stager& stager : found) stager.run(pool);
  return found.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
}

}  // namespace mlxn::msl
