#include "metal/msl/passes/lower_cpu.h"

#include "llvm/Transforms/Utils/Cloning.h"
#include "metal/msl/codegen/codegen.h"
#include "metal/msl/passes/explain.h"
#include "metal/msl/passes/tiles.h"

namespace mlxn::msl {

namespace {

void drop(llvm::Function& function) {
  function.deleteBody();
  function.eraseFromParent();
}

// Tier 1 changes what it is built from, so it works on a copy.
std::optional<Refusal> try_uniform_regions(llvm::Function& entry, Kernel& kernel,
                                           const Shape& shape) {
  llvm::ValueToValueMapTy map;
  llvm::Function* copy = llvm::CloneFunction(&entry, map);
  copy->takeName(&entry);
  auto refusal = build_uniform_regions(*copy, kernel, shape);
  entry.takeName(copy);
  drop(*copy);
  return refusal;
}

std::optional<Refusal> build_regions(llvm::Function& entry, Kernel& kernel,
                                     const CompileRequest& request, llvm::TargetMachine& machine) {
  fix_shape(entry, request.shape);
  scalarise(entry, machine);
  std::optional<Refusal> refusal;
  bool masked = request.forced_tier >= int(Tier::kMaskedRegions);
  if (!masked) refusal = try_uniform_regions(entry, kernel, request.shape);
  if (masked || refusal) build_masked_regions(entry, kernel, request.shape);
  drop(entry);
  return refusal;
}

// The entry function as an explanation shows it.
llvm::Function& copy_for_explanation(llvm::Function& entry, const CompileRequest& request,
                                     llvm::TargetMachine& machine) {
  llvm::ValueToValueMapTy map;
  llvm::Function& copy = *llvm::CloneFunction(&entry, map);
  fix_shape(copy, request.shape);
  scalarise(copy, machine);
  return copy;
}

}  // namespace

void lower_to_cpu(llvm::Module& module, std::vector<Kernel>& kernels, const CompileRequest& request,
                  llvm::TargetMachine& machine, std::string* explanation) {
  for (Kernel& kernel : kernels) {
    llvm::Function& entry = *module.getFunction(kernel.symbol);
    lower_thread_state(entry, kernel);
    llvm::Function* shown = explanation ? &copy_for_explanation(entry, request, machine) : nullptr;
    lower_matrix_memory(entry);
    mark_constant_loads(entry);
    std::optional<Refusal> refusal;
    if (request.forced_tier >= int(Tier::kCoroutine))
      build_coroutine(entry, kernel);
    else if (request.forced_tier >= int(Tier::kRegions) || has_cross_lane_call(entry))
      refusal = build_regions(entry, kernel, request, machine);
    else
      build_work_item_loop(entry, kernel);
    if (!shown) continue;
    *explanation += explain(*shown, kernel, request, refusal);
    drop(*shown);
  }
}

}  // namespace mlxn::msl
