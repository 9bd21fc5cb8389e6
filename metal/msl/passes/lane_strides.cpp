#include "metal/msl/passes/lane_strides.h"

#include <set>
#include <vector>

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/load_runs.h"
#include "metal/msl/passes/packed_dot.h"
#include "metal/msl/passes/target_features.h"

namespace mlxn::msl {

using namespace llvm;
using namespace llvm::PatternMatch;

LaneStrides::LaneStrides(Function& entry, const Uniformity& uniformity)
    : entry_(entry), uniformity_(uniformity) {}

std::optional<int64_t> LaneStrides::of(const Value* value) {
  if (isa<Constant>(value)) return 0;
  if (value == entry_.getArg(kThread)) return 1;
  if (uniformity_.of(value) < Level::kLane) return 0;
  auto [position, fresh] = known_.try_emplace(value, std::nullopt);
  if (!fresh) return position->second;
  std::optional<int64_t> stride = compute(value);
  return known_[value] = stride;
}

std::optional<int64_t> LaneStrides::compute(const Value* value) {
  const auto* instruction = dyn_cast<Instruction>(value);
  if (!instruction) return std::nullopt;
  const APInt* constant = nullptr;
  Value* operand = nullptr;
  auto* whole = const_cast<Instruction*>(instruction);
  if (isa<ZExtInst>(instruction) || isa<SExtInst>(instruction) || isa<TruncInst>(instruction))
    return of(instruction->getOperand(0));
  // The lane's number: the thread index without its simdgroup.
  if (match(whole, m_And(m_Value(operand), m_SpecificInt(MSL_SIMD_WIDTH - 1)))) {
    auto inner = of(operand);
    return inner == 1 || inner == 0 ? inner : std::nullopt;
  }
  auto both = [&](auto combine) -> std::optional<int64_t> {
    auto a = of(instruction->getOperand(0)), b = of(instruction->getOperand(1));
    if (!a || !b) return std::nullopt;
    return combine(*a, *b);
  };
  auto times = [&](int64_t factor) -> std::optional<int64_t> {
    auto inner = of(operand);
    if (!inner || std::abs(factor) > (int64_t{1} << 30)) return std::nullopt;
    return *inner * factor;
  };
  switch (instruction->getOpcode()) {
    case Instruction::Add: return both([](int64_t a, int64_t b) { return a + b; });
    case Instruction::Sub: return both([](int64_t a, int64_t b) { return a - b; });
    case Instruction::Or:
      if (!cast<PossiblyDisjointInst>(instruction)->isDisjoint()) return std::nullopt;
      return both([](int64_t a, int64_t b) { return a + b; });
    case Instruction::Mul:
      if (match(whole, m_c_Mul(m_Value(operand), m_APInt(constant))))
        return times(constant->getSExtValue());
      return std::nullopt;
    case Instruction::Shl:
      if (match(whole, m_Shl(m_Value(operand), m_APInt(constant))) && constant->ult(30))
        return times(int64_t{1} << constant->getZExtValue());
      return std::nullopt;
    default: break;
  }
  if (const auto* address = dyn_cast<GetElementPtrInst>(instruction)) {
    const DataLayout& layout = entry_.getParent()->getDataLayout();
    auto total = of(address->getPointerOperand());
    for (auto step = gep_type_begin(address), end = gep_type_end(address); step != end && total;
         ++step) {
      auto index = of(step.getOperand());
      if (!index) return std::nullopt;
      if (step.isSequential())
        *total += *index * int64_t(step.getSequentialElementStride(layout).getFixedValue());
    }
    return total;
  }
  // A value that a loop moves on by the same amount for all lanes keeps its distance.
  if (const auto* phi = dyn_cast<PHINode>(instruction)) {
    std::optional<int64_t> first;
    for (const Value* incoming : phi->incoming_values()) {
      const Value* base = incoming;
      if (const auto* moved = dyn_cast<BinaryOperator>(incoming);
          moved && moved->getOpcode() == Instruction::Add &&
          (moved->getOperand(0) == phi || moved->getOperand(1) == phi)) {
        if (of(moved->getOperand(moved->getOperand(0) == phi ? 1 : 0)) != 0) return std::nullopt;
        continue;
      }
      if (const auto* moved = dyn_cast<GetElementPtrInst>(incoming);
          moved && moved->getPointerOperand() == phi) {
        for (const Value* index : moved->indices())
          if (of(index) != 0) return std::nullopt;
        continue;
      }
      auto stride = of(base);
      if (!stride || (first && first != stride)) return std::nullopt;
      first = stride;
    }
    return first;
  }
  return std::nullopt;
}

bool LaneStrides::is_worth_vectorising(const Loop& loop) {
  constexpr int64_t kMaxStride = 4;  // in elements
  constexpr unsigned kMaxSize = 400;
  if (!loop.isInnermost()) return false;
  const DataLayout& layout = entry_.getParent()->getDataLayout();
  unsigned size = 0;
  for (const BasicBlock* block : loop.blocks())
    for (const Instruction& instruction : *block) {
      if (++size > kMaxSize || instruction.isAtomic()) return false;
      if (const auto* call = dyn_cast<CallInst>(&instruction);
          call && (isa<MemIntrinsic>(call) || (!isa<IntrinsicInst>(call) && !packed_dot(*call))))
        return false;
      const Value* pointer = getLoadStorePointerOperand(&instruction);
      if (!pointer) continue;
      bool unknown = false;
      if (private_variable(pointer, unknown) || unknown) return false;
      auto stride = of(pointer);
      int64_t bytes = int64_t(
          layout.getTypeStoreSize(getLoadStoreType(const_cast<Instruction*>(&instruction))));
      if (!stride || std::abs(*stride) > kMaxStride * bytes) return false;
    }
  return true;
}

namespace {

// Numbers are computed, not addresses.
bool is_arithmetic(const Instruction& instruction) {
  if (instruction.getType()->isFloatingPointTy()) return !isa<LoadInst, PHINode>(instruction);
  return isa<BinaryOperator>(instruction) && !instruction.getType()->isIntegerTy(64);
}

}  // namespace

bool LaneStrides::is_worth_staging(const Loop& loop) {
  constexpr unsigned kMaxSize = 1000, kLongRun = 4, kMostParts = 64, kWorkForAPart = 4,
                     kWorkForASum = 12;
  constexpr int64_t kMaxStride = 4;  // in elements
  if (!loop.isInnermost() || !has_feature(entry_, "+avx512f")) return false;
  unsigned size = 0, work = 0;
  SmallVector<LoadInst*, 32> apart;
  for (BasicBlock* block : loop.blocks())
    if (count_if(successors(block), [&](BasicBlock* next) { return loop.contains(next); }) > 1)
      return false;
  for (BasicBlock* block : loop.blocks())
    for (Instruction& instruction : *block) {
      if (++size > kMaxSize || instruction.mayWriteToMemory()) return false;
      work += is_arithmetic(instruction);
      if (isa<CallInst>(instruction) && !isa<IntrinsicInst>(instruction)) return false;
      auto* load = dyn_cast<LoadInst>(&instruction);
      if (!load) continue;
      bool unknown = false;
      if (!load->isSimple() || private_variable(load->getPointerOperand(), unknown) || unknown)
        return false;
      const int64_t bytes = load->getType()->getPrimitiveSizeInBits() / 8;
      auto stride = of(load->getPointerOperand());
      if (!stride || std::abs(*stride) > kMaxStride * bytes) {
        if (bytes == 0 || bytes > 4) return false;
        apart.push_back(load);
      }
    }
  unsigned parts = 0;
  bool any_long = false;
  for (const LoadRun& run : find_load_runs(apart)) {
    any_long |= run.elements.size() >= kLongRun;
    for (unsigned first = 0; first < run.elements.size(); first += part_of_run(run, first)) ++parts;
  }
  // Sums that take in one number a round lie side by side in a lane: those are vectors anyway.
  const auto sums = count_if(loop.getHeader()->phis(),
                             [](const PHINode& phi) { return phi.getType()->isFloatingPointTy(); });
  return any_long && parts <= kMostParts && work >= kWorkForAPart * parts &&
         work >= kWorkForASum * sums;
}

namespace {

// What a value of a round is made from.
struct Sources {
  bool loads = false;
  std::set<const PHINode*> of_addresses;  // of the loop's head, by way of a load's address
};

Sources sources_of(const Loop& loop, const Value* value) {
  Sources found;
  std::vector<std::pair<const Value*, bool>> todo = {{value, false}};  // is it part of an address?
  std::set<std::pair<const Value*, bool>> seen;
  while (!todo.empty()) {
    auto [next, address] = todo.back();
    todo.pop_back();
    const auto* instruction = dyn_cast<Instruction>(next);
    if (!instruction || !loop.contains(instruction) || !seen.insert({next, address}).second)
      continue;
    const auto* phi = dyn_cast<PHINode>(instruction);
    if (phi && phi->getParent() == loop.getHeader()) {
      if (address) found.of_addresses.insert(phi);
      continue;
    }
    bool load = isa<LoadInst>(instruction);
    found.loads |= load;
    for (const Value* operand : instruction->operands()) todo.push_back({operand, address || load});
    if (!phi) continue;
    for (const BasicBlock* from : phi->blocks())
      for (const BasicBlock* choice : {from, from->getSinglePredecessor()})
        if (const auto* branch = choice ? dyn_cast<BranchInst>(choice->getTerminator()) : nullptr;
            branch && branch->isConditional())
          todo.push_back({branch->getCondition(), address});
  }
  return found;
}

}  // namespace

bool LaneStrides::is_search(const Loop& loop) const {
  constexpr unsigned kMostLoads = 4, kMaxSize = 100;
  if (!loop.isInnermost() || !loop.getLoopLatch() || !has_feature(entry_, "+avx512f")) return false;
  unsigned size = 0, loads = 0;
  for (const BasicBlock* block : loop.blocks())
    for (const Instruction& instruction : *block) {
      if (++size > kMaxSize) return false;
      const auto* load = dyn_cast<LoadInst>(&instruction);
      if (!load) {
        if (instruction.mayReadOrWriteMemory()) return false;
        continue;
      }
      unsigned bits = load->getType()->getPrimitiveSizeInBits();
      bool unknown = false;
      if (++loads > kMostLoads || !load->isSimple() || (bits != 32 && bits != 64) ||
          private_variable(load->getPointerOperand(), unknown) || unknown)
        return false;
    }
  std::map<const PHINode*, Sources> phis;
  for (const PHINode& phi : loop.getHeader()->phis())
    phis[&phi] = sources_of(loop, phi.getIncomingValueForBlock(loop.getLoopLatch()));
  return any_of(phis, [&](auto& known) {
    return uniformity_.of(known.first) == Level::kLane &&
           any_of(known.second.of_addresses,
                  [&](const PHINode* address) { return phis.at(address).loads; });
  });
}

}  // namespace mlxn::msl
