#include "metal/msl/recipes/lower_cpu.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "metal/msl/passes/coroutine.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/entry.h"
#include "metal/msl/passes/equal_phis.h"
#include "metal/msl/passes/explain.h"
#include "metal/msl/passes/masked_regions.h"
#include "metal/msl/passes/moving_pointers.h"
#include "metal/msl/passes/promote_tiles.h"
#include "metal/msl/passes/region_emitter.h"
#include "metal/msl/passes/shape.h"
#include "metal/msl/passes/thread_state.h"
#include "metal/msl/passes/tiles.h"
#include "metal/msl/passes/uniform_regions.h"
#include "metal/msl/passes/work_item_loop.h"
#include "metal/msl/recipes/pipelines.h"

namespace mlxn::msl {

namespace {

void drop(llvm::Function& function) {
  function.deleteBody();
  function.eraseFromParent();
}

unsigned most_threads(const Shape& shape) {
  return shape.kind == Shape::Kind::kExact ? shape.size[0] * shape.size[1] * shape.size[2]
                                           : MSL_MAX_THREADS;
}

// Matrices become values of the simdgroup where all its lanes are there, else of the lanes.
// Returns whether there are any for the simdgroup.
bool make_tiles(llvm::Function& entry, const Shape& shape) {
  bool full = has_full_simdgroups(shape);
  if (!full) {
    lower_matrix_memory(entry);
    return false;
  }
  Uniformity uniformity(entry, full);
  TileFacts facts;
  facts.thread = entry.getArg(kThread);
  facts.threads = shape.kind == Shape::Kind::kExact ? shape.size[0] * shape.size[1] * shape.size[2]
                                                    : MSL_MAX_THREADS;
  facts.uniform = [&](const llvm::Value* value) { return uniformity.of(value) < Level::kLane; };
  facts.uniform_control = [&](const llvm::BasicBlock* block) {
    return uniformity.control(*block) < Level::kLane;
  };
  return promote_tiles(entry, facts);
}

// Tier 1 changes what it is built from, so it works on a copy.
std::optional<Refusal> try_uniform_regions(llvm::Function& entry, Kernel& kernel,
                                           const Shape& shape, llvm::TargetMachine& machine) {
  llvm::ValueToValueMapTy map;
  llvm::Function* copy = llvm::CloneFunction(&entry, map);
  copy->takeName(&entry);
  bool tiles = make_tiles(*copy, shape);
  if (has_full_simdgroups(shape))
    join_moving_pointers(*copy, Uniformity(*copy, /*full=*/true), most_threads(shape));
  auto refusal = build_uniform_regions(*copy, kernel, shape);
  if (tiles && !refusal) {
    llvm::Function& made = *entry.getParent()->getFunction(kernel.symbol);
    join_blocks(made, machine);
    expand_tiles(made);
  }
  entry.takeName(copy);
  drop(*copy);
  return refusal;
}

std::optional<Refusal> build_regions(llvm::Function& entry, Kernel& kernel,
                                     const CompileRequest& request, llvm::TargetMachine& machine) {
  fix_shape(entry, request.shape);
  scalarise(entry, machine);
  join_equal_phis(entry);
  std::optional<Refusal> refusal;
  bool masked = request.forced_tier >= int(Tier::kMaskedRegions);
  if (!masked) refusal = try_uniform_regions(entry, kernel, request.shape, machine);
  if (masked || refusal) {
    lower_matrix_memory(entry);
    build_masked_regions(entry, kernel, request.shape);
  }
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
                  llvm::TargetMachine& machine, std::vector<Explanation>* explanations) {
  for (Kernel& kernel : kernels) {
    llvm::Function& entry = *module.getFunction(kernel.symbol);
    lower_thread_state(entry, kernel);
    llvm::Function* shown = explanations ? &copy_for_explanation(entry, request, machine) : nullptr;
    mark_constant_loads(entry);
    std::optional<Refusal> refusal;
    bool regions = request.forced_tier >= int(Tier::kRegions) || has_cross_lane_call(entry);
    if (request.forced_tier >= int(Tier::kCoroutine)) {
      lower_matrix_memory(entry);
      build_coroutine(entry, kernel);
    } else if (regions) {
      refusal = build_regions(entry, kernel, request, machine);
    } else {
      lower_matrix_memory(entry);
      refusal = build_work_item_loop(entry, kernel);
    }
    if (!shown) continue;
    explanations->push_back(explain(*shown, kernel, request, refusal));
    drop(*shown);
  }
}

}  // namespace mlxn::msl
