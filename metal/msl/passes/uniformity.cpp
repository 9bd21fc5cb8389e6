#include "metal/msl/passes/uniformity.h"

#include <algorithm>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/simdgroup_ops.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

Level higher(Level a, Level b) {
  return std::max(a, b);
}

bool has_private_variables(const Function& entry) {
  for (const BasicBlock& block : entry)
    for (const Instruction& instruction : block)
      if (isa<AllocaInst>(instruction)) return true;
  return false;
}

// The thread index with its low five bits gone, or a question about no more than that: which
// simdgroup, or which group of simdgroups. LLVM turns `t / 32 == 0` into `t < 32`.
bool is_simdgroup_number(const Instruction& instruction, const Argument* thread) {
  const APInt* constant = nullptr;
  Value* index = nullptr;
  auto is_thread = [&](Value* value) {
    while (isa<ZExtInst>(value) || isa<TruncInst>(value))
      value = cast<CastInst>(value)->getOperand(0);
    return value == thread;
  };
  auto* whole = const_cast<Instruction*>(&instruction);
  if (match(whole, m_LShr(m_Value(index), m_APInt(constant))))
    return constant->uge(5) && is_thread(index);
  if (match(whole, m_UDiv(m_Value(index), m_APInt(constant))))
    return !constant->isZero() && constant->urem(MSL_SIMD_WIDTH) == 0 && is_thread(index);
  if (match(whole, m_And(m_Value(index), m_APInt(constant)))) {
    unsigned lowest = constant->countr_zero();
    const APInt* shift = nullptr;
    Value* inner = nullptr;
    while (isa<ZExtInst>(index) || isa<TruncInst>(index))
      index = cast<CastInst>(index)->getOperand(0);
    if (match(index, m_LShr(m_Value(inner), m_APInt(shift))) && shift->ult(32)) {
      lowest += unsigned(shift->getZExtValue());
      index = inner;
    }
    return lowest >= 5 && is_thread(index);
  }
  ICmpInst::Predicate order;
  if (match(whole, m_ICmp(order, m_Value(index), m_APInt(constant)))) {
    const APInt first = order == ICmpInst::ICMP_UGT || order == ICmpInst::ICMP_ULE
                            ? *constant + 1  // of the upper side
                            : *constant;
    return ICmpInst::isUnsigned(order) && first.urem(MSL_SIMD_WIDTH) == 0 && is_thread(index);
  }
  return false;
}

// Gives the same to all lanes of a simdgroup, whatever they bring.
bool makes_uniform(const Instruction& instruction) {
  const auto* call = dyn_cast<CallInst>(&instruction);
  const Function* callee = call ? call->getCalledFunction() : nullptr;
  return callee && tile_call(*call) == TileCall::kNone && is_cross_lane(*callee) &&
         lane_operation(*call).uniform_result;
}

Value* choice_of(const Instruction& terminator) {
  if (const auto* branch = dyn_cast<BranchInst>(&terminator))
    return branch->isConditional() ? branch->getCondition() : nullptr;
  if (const auto* choice = dyn_cast<SwitchInst>(&terminator)) return choice->getCondition();
  return nullptr;
}

}  // namespace

const AllocaInst* private_variable(const Value* pointer, bool& unknown) {
  SmallVector<const Value*, 4> bases;  // more than one where pointers are chosen
  getUnderlyingObjects(pointer, bases, /*LI=*/nullptr, /*MaxLookup=*/0);
  unknown = any_of(bases, [&](const Value* base) {
    return isa<PHINode, SelectInst, IntToPtrInst>(base) ||
           (isa<AllocaInst>(base) && bases.size() > 1);
  });
  return bases.size() == 1 ? dyn_cast<AllocaInst>(bases.front()) : nullptr;
}

struct Uniformity::Trees {
  explicit Trees(Function& entry) : post(entry), dominators(entry), loops(dominators) {}
  PostDominatorTree post;
  DominatorTree dominators;
  LoopInfo loops;
};

Uniformity::Uniformity(Function& entry, bool full) : entry_(entry), full_(full) {
  Trees trees(entry);
  trees_ = &trees;
  run();
  trees_ = nullptr;
}

Level Uniformity::of_branch(const BasicBlock& block) const {
  const Instruction& terminator = *block.getTerminator();
  if (terminator.getNumSuccessors() < 2) return Level::kThreadgroup;
  const Value* choice = choice_of(terminator);
  return choice ? of(choice) : Level::kLane;
}

bool Uniformity::raise(std::map<const Value*, Level>& map, const Value* key, Level level) {
  Level& now = map[key];
  if (now >= level) return false;
  now = level;
  return true;
}

// Levels only rise, so this ends.
void Uniformity::run() {
  for (unsigned position : {kPositionX, kPositionY, kPositionZ, kThread})
    levels_[entry_.getArg(position)] = Level::kLane;
  bool changed = true;
  while (changed) {
    changed = follow_branches();
    for (BasicBlock& block : entry_)
      for (Instruction& instruction : block) {
        changed |= note_writes(instruction);
        changed |= raise(levels_, &instruction, evaluate(instruction));
      }
  }
}

bool Uniformity::follow_branches() {
  bool changed = false;
  for (BasicBlock& block : entry_) {
    Level level = of_branch(block);
    if (level == Level::kThreadgroup || followed_[&block] >= level) continue;
    followed_[&block] = level;
    spread(block, level);
    changed = true;
  }
  return changed;
}

// What a branch of `level` does to the blocks up to its post-dominator, to the values that join
// there, and to the values of loops that it leaves.
void Uniformity::spread(BasicBlock& block, Level level) {
  auto* node = trees_->post.getNode(&block);
  node = node ? node->getIDom() : nullptr;
  const BasicBlock* join = node ? node->getBlock() : nullptr;
  auto between = std::make_shared<std::map<const BasicBlock*, bool>>();
  std::vector<BasicBlock*> todo(succ_begin(&block), succ_end(&block));
  std::vector<BasicBlock*> meetings;
  if (join) meetings.push_back(const_cast<BasicBlock*>(join));
  while (!todo.empty()) {
    BasicBlock* next = todo.back();
    todo.pop_back();
    if (next == join || !between->emplace(next, true).second) continue;
    Level& control = control_[next];
    control = higher(control, level);
    if (pred_size(next) > 1) meetings.push_back(next);
    todo.insert(todo.end(), succ_begin(next), succ_end(next));
  }
  // A loop this branch may leave ends at different times for different threads.
  for (Loop* loop = trees_->loops.getLoopFor(&block); loop; loop = loop->getParentLoop()) {
    auto outside = [&](const BasicBlock* b) { return !loop->contains(b); };
    bool leaves = any_of(successors(&block), outside) || (join && outside(join)) ||
                  any_of(*between, [&](auto& entry) { return outside(entry.first); });
    bool repeats = between->count(loop->getHeader()) || loop->getHeader() == &block ||
                   is_contained(successors(&block), loop->getHeader());
    if (!leaves || !repeats) continue;
    for (BasicBlock* inner : loop->blocks())
      for (Instruction& instruction : *inner)
        for (User* user : instruction.users())
          if (auto* use = dyn_cast<Instruction>(user);
              use && outside(use->getParent()) && !makes_uniform(*use))
            raise(levels_, use, level);
  }
  between->emplace(&block, true);
  for (BasicBlock* meeting : meetings) joins_[meeting].push_back({level, between});
}

Level Uniformity::evaluate_phi(const PHINode& phi) const {
  Level level = Level::kThreadgroup;
  for (const Value* value : phi.incoming_values()) level = higher(level, of(value));
  auto joins = joins_.find(phi.getParent());
  if (joins == joins_.end() || phi.hasConstantValue()) return level;
  for (const Join& join : joins->second) {
    if (join.level <= level) continue;
    bool header =
        trees_->loops.isLoopHeader(phi.getParent()) && join.between->count(phi.getParent());
    const Value* one = nullptr;
    bool same = !header;
    for (unsigned i = 0; i < phi.getNumIncomingValues() && same; ++i) {
      if (!join.between->count(phi.getIncomingBlock(i))) continue;
      same = !one || one == phi.getIncomingValue(i);
      one = phi.getIncomingValue(i);
    }
    if (!same) level = join.level;
  }
  return level;
}

namespace {

// How much a pointer into a private variable differs between threads, the variable's own address
// aside.
Level offset_level(const Uniformity& levels, const Value* pointer) {
  Level level = Level::kThreadgroup;
  while (const auto* address = dyn_cast<GEPOperator>(pointer)) {
    for (const Value* index : address->indices()) level = higher(level, levels.of(index));
    pointer = address->getPointerOperand();
  }
  return isa<AllocaInst>(pointer) ? level : Level::kLane;
}

}  // namespace

Level Uniformity::evaluate_load(const LoadInst& load) const {
  if (load.isAtomic() || load.isVolatile()) return Level::kLane;
  bool unknown = false;
  const AllocaInst* variable = private_variable(load.getPointerOperand(), unknown);
  if (variable) {
    auto held = private_.find(variable);
    Level content = held == private_.end() ? Level::kThreadgroup : held->second;
    return higher(offset_level(*this, load.getPointerOperand()), content);
  }
  if (unknown && has_private_variables(entry_)) return Level::kLane;
  return of(load.getPointerOperand());
}

Level Uniformity::evaluate_call(const CallInst& call) const {
  const Function* callee = call.getCalledFunction();
  if (call.getType()->isVoidTy()) return Level::kThreadgroup;
  if (TileCall tile = tile_call(call); tile != TileCall::kNone)
    return tile == TileCall::kToLane ? Level::kLane : Level::kSimdgroup;
  if (makes_uniform(call)) return Level::kSimdgroup;
  if (callee && is_cross_lane(*callee)) {
    LaneOperation operation = lane_operation(call);
    // A shuffle from one lane for all is a broadcast, if that lane is there for sure.
    bool broadcast = MSL_OP_KIND(operation.word) == MSL_OP_SHUFFLE && full_ &&
                     of(call.getArgOperand(1)) < Level::kLane;
    const auto* lane = dyn_cast<ConstantInt>(call.getArgOperand(1));
    return broadcast && lane && lane->getValue().ult(MSL_SIMD_WIDTH) ? Level::kSimdgroup
                                                                     : Level::kLane;
  }
  if (!call.doesNotAccessMemory()) return Level::kLane;
  Level level = Level::kThreadgroup;
  for (const Value* argument : call.args()) level = higher(level, of(argument));
  return level;
}

Level Uniformity::evaluate(Instruction& instruction) {
  if (const auto* phi = dyn_cast<PHINode>(&instruction)) return evaluate_phi(*phi);
  if (const auto* load = dyn_cast<LoadInst>(&instruction)) return evaluate_load(*load);
  if (const auto* call = dyn_cast<CallInst>(&instruction)) return evaluate_call(*call);
  if (isa<AtomicRMWInst>(instruction) || isa<AtomicCmpXchgInst>(instruction) ||
      isa<AllocaInst>(instruction))
    return Level::kLane;
  if (is_simdgroup_number(instruction, entry_.getArg(kThread))) return Level::kSimdgroup;
  Level level = Level::kThreadgroup;
  for (const Value* operand : instruction.operands()) level = higher(level, of(operand));
  return level;
}

bool Uniformity::note_writes(const Instruction& instruction) {
  Level value = Level::kLane;
  const Value* pointer = nullptr;
  if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
    pointer = store->getPointerOperand();
    if (!store->isAtomic() && !store->isVolatile()) value = of(store->getValueOperand());
    // A stored address makes its variable reachable from anywhere.
    bool unknown = false;
    if (store->getValueOperand()->getType()->isPointerTy())
      if (const AllocaInst* escaped = private_variable(store->getValueOperand(), unknown))
        if (raise(private_, escaped, Level::kLane)) return true;
  } else if (const auto* set = dyn_cast<MemSetInst>(&instruction)) {
    pointer = set->getDest();
    value = higher(of(set->getValue()), of(set->getLength()));
  } else if (const auto* copy = dyn_cast<MemTransferInst>(&instruction)) {
    pointer = copy->getDest();
  } else if (const auto* atomic = dyn_cast<AtomicRMWInst>(&instruction)) {
    pointer = atomic->getPointerOperand();
  } else if (const auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    pointer = exchange->getPointerOperand();
  }
  if (!pointer) return false;
  bool unknown = false;
  if (const AllocaInst* variable = private_variable(pointer, unknown))
    return raise(
        private_, variable,
        higher(higher(value, offset_level(*this, pointer)), control(*instruction.getParent())));
  bool changed = false;
  if (unknown)
    for (BasicBlock& block : entry_)
      for (Instruction& other : block)
        if (isa<AllocaInst>(other)) changed |= raise(private_, &other, Level::kLane);
  return changed;
}

}  // namespace mlxn::msl
