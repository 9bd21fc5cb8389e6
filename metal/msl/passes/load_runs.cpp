#include "metal/msl/passes/load_runs.h"

#include <map>

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/Module.h"

namespace mlxn::msl {

using namespace llvm;

std::vector<LoadRun> find_load_runs(ArrayRef<LoadInst*> loads) {
  using Places = std::map<int64_t, std::vector<LoadInst*>>;  // by distance from the base, in bytes
  MapVector<std::pair<const Value*, Type*>, Places> by_base;
  for (LoadInst* load : loads) {
    APInt offset(64, 0);
    const Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        load->getModule()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
    by_base[{base, load->getType()}][offset.getSExtValue()].push_back(load);
  }
  std::vector<LoadRun> runs;
  for (auto& [key, places] : by_base) {
    const int64_t size = key.second->getScalarSizeInBits() / 8;
    int64_t next = 0;
    for (auto& [offset, same] : places) {
      if (runs.empty() || &same == &places.begin()->second || offset != next)
        runs.push_back({key.second, {}});
      runs.back().elements.push_back(std::move(same));
      next = offset + size;
    }
  }
  return runs;
}

unsigned part_of_run(const LoadRun& run, unsigned first) {
  const size_t left = run.elements.size() - first;
  if (left >= 8 && run.type->getScalarSizeInBits() <= 16) return 8;
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

}  // namespace mlxn::msl
