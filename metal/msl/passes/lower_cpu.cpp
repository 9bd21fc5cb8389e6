#include "metal/msl/passes/lower_cpu.h"

#include "llvm/Transforms/Utils/Cloning.h"
#include "metal/msl/codegen/codegen.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

namespace {

void drop(llvm::Function& function) {
  function.deleteBody();
  function.eraseFromParent();
}

// Tier 1 changes what it is built from, so it works on a copy.
bool try_uniform_regions(llvm::Function& entry, Kernel& kernel, const Shape& shape) {
  llvm::ValueToValueMapTy map;
  llvm::Function* copy = llvm::CloneFunction(&entry, map);
  copy->takeName(&entry);
  bool accepted = !build_uniform_regions(*copy, kernel, shape);
  entry.takeName(copy);
  drop(*copy);
  return accepted;
}

void build_regions(llvm::Function& entry, Kernel& kernel, const CompileRequest& request,
                   llvm::TargetMachine& machine) {
  fix_shape(entry, request.shape);
  scalarise(entry, machine);
  if (request.forced_tier >= int(Tier::kMaskedRegions) ||
      !try_uniform_regions(entry, kernel, request.shape))
    build_masked_regions(entry, kernel, request.shape);
  drop(entry);
}

}  // namespace

void lower_to_cpu(llvm::Module& module, std::vector<Kernel>& kernels, const CompileRequest& request,
                  llvm::TargetMachine& machine) {
  for (Kernel& kernel : kernels) {
    llvm::Function& entry = *module.getFunction(kernel.symbol);
    lower_thread_state(entry, kernel);
    lower_matrix_memory(entry);
    mark_constant_loads(entry);
    if (request.forced_tier >= int(Tier::kCoroutine))
      build_coroutine(entry, kernel);
    else if (request.forced_tier >= int(Tier::kRegions) || has_cross_lane_call(entry))
      build_regions(entry, kernel, request, machine);
    else
      build_work_item_loop(entry, kernel);
  }
}

}  // namespace mlxn::msl
