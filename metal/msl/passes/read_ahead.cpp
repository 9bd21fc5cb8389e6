#include "metal/msl/passes/read_ahead.h"

#include <algorithm>
#include <vector>

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

constexpr int64_t kLine = 64, kAhead = 8192;  // bytes
constexpr int64_t kLeastStep = 8 * kLine, kMostStep = kAhead;
constexpr int64_t kLeastVector = 32;
constexpr int64_t kMostWork = 32;  // instructions for a line

// Loads of a loop from one row of memory.
struct Row {
  struct Part {
    LoadInst* load;
    int64_t offset, size;  // from the first load on
  };
  const SCEVAddRecExpr* address;  // of the first load
  int64_t step;                   // bytes from round to round
  std::vector<Part> parts;        // in the order of a round

  int64_t begin() const { return std::ranges::min_element(parts, {}, &Part::offset)->offset; }

  // Bytes that a round reads, each counted once.
  int64_t covered() const {
    std::vector<Part> sorted = parts;
    std::ranges::sort(sorted, {}, &Part::offset);
    int64_t total = 0, end = sorted.front().offset;
    for (const Part& part : sorted) {
      const int64_t stop = part.offset + part.size;
      total += std::max<int64_t>(0, stop - std::max(end, part.offset));
      end = std::max(end, stop);
    }
    return total;
  }
};

class Reader {
 public:
  Reader(Loop& loop, LoopInfo& loops, ScalarEvolution& values) : loop_(loop), values_(values) {
    LoopBlocksDFS order(&loop);
    order.perform(&loops);
    for (BasicBlock* block : make_range(order.beginRPO(), order.endRPO())) {
      for (Instruction& instruction : *block) {
        ++instructions_;
        if (auto* load = dyn_cast<LoadInst>(&instruction)) add(*load);
      }
    }
  }

  bool fetch_ahead() {
    bool changed = false;
    for (const Row& row : rows_) {
      const bool is_dense = row.covered() >= row.step / 4 * 3;
      if (!is_dense || instructions_ > row.step / kLine * kMostWork) continue;
      fetch_ahead(row);
      changed = true;
    }
    return changed;
  }

 private:
  void add(LoadInst& load) {
    const DataLayout& layout = load.getModule()->getDataLayout();
    const auto size = static_cast<int64_t>(layout.getTypeStoreSize(load.getType()).getFixedValue());
    if (!load.isSimple() || !load.getType()->isVectorTy() || size < kLeastVector) return;
    const auto* address = dyn_cast<SCEVAddRecExpr>(values_.getSCEV(load.getPointerOperand()));
    if (!address || address->getLoop() != &loop_ || !address->isAffine()) return;
    const auto* constant = dyn_cast<SCEVConstant>(address->getStepRecurrence(values_));
    if (!constant) return;
    const APInt& step = constant->getAPInt();
    if (step.slt(kLeastStep) || step.sgt(kMostStep)) return;
    for (Row& row : rows_) {
      const auto* offset = dyn_cast<SCEVConstant>(values_.getMinusSCEV(address, row.address));
      if (row.step != step.getSExtValue() || !offset || offset->getAPInt().abs().ugt(row.step))
        continue;
      row.parts.push_back({&load, offset->getAPInt().getSExtValue(), size});
      return;
    }
    rows_.push_back({address, step.getSExtValue(), {{&load, 0, size}}});
  }

  // Each line in front of the load that reads its like in this round, so that fetches are spread.
  void fetch_ahead(const Row& row) {
    const int64_t begin = row.begin();
    for (int64_t at = begin; at < begin + row.step; at += kLine) {
      const auto reads = [at](const Row::Part& part) {
        return part.offset <= at && at < part.offset + part.size;
      };
      const auto found = std::ranges::find_if(row.parts, reads);
      const Row::Part& part = found == row.parts.end() ? row.parts.front() : *found;
      IRBuilder<> builder(part.load);
      Value* address = builder.CreatePtrAdd(part.load->getPointerOperand(),
                                            builder.getInt64(kAhead + at - part.offset));
      constexpr int kRead = 0, kNearest = 3, kData = 1;
      builder.CreateIntrinsic(
          Intrinsic::prefetch, {address->getType()},
          {address, builder.getInt32(kRead), builder.getInt32(kNearest), builder.getInt32(kData)});
    }
  }

  Loop& loop_;
  ScalarEvolution& values_;
  std::vector<Row> rows_;
  int64_t instructions_ = 0;
};

}  // namespace

PreservedAnalyses ReadAhead::run(Function& function, FunctionAnalysisManager& manager) {
  auto& loops = manager.getResult<LoopAnalysis>(function);
  auto& values = manager.getResult<ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->isInnermost()) changed |= Reader(*loop, loops, values).fetch_ahead();
  }
  if (!changed) return PreservedAnalyses::all();
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

}  // namespace mlxn::msl
