#include "metal/msl/recipes/pipelines.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LowerSwitch.h"
#include "metal/msl/passes/bfloat.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/half_conversion.h"
#include "metal/msl/passes/join_gathers.h"
#include "metal/msl/passes/keep_order.h"
#include "metal/msl/passes/packed_dot.h"
#include "metal/msl/passes/read_ahead.h"
#include "metal/msl/passes/stage_loads.h"
#include "metal/msl/passes/test_gathers.h"
#include "metal/msl/passes/trim_loops.h"
#include "metal/msl/passes/unroll.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// The analysis managers a pipeline needs, wired together.
struct Managers {
  explicit Managers(TargetMachine& machine)
      : ptx(machine.getTargetTriple().isNVPTX()),
        builder(&machine, options(), std::nullopt, &instrumentation) {
    // No library calls are assumed: kernels run without a C library.
    library.disableAllFunctions();
    functions.registerPass([&] { return TargetLibraryAnalysis(library); });
    builder.registerModuleAnalyses(modules);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.registerCGSCCAnalyses(components);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  static PipelineTuningOptions options() {
    PipelineTuningOptions options;
    options.LoopVectorization = true;
    options.SLPVectorization = true;
    options.LoopUnrolling = true;
    return options;
  }

  const bool ptx;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  TargetLibraryInfoImpl library;
  PassInstrumentationCallbacks instrumentation;
  PassBuilder builder;
};

// Passes that duplicate code for the paths through several branches. They join a branch in which
// lanes differ with one in which they agree; around cross-lane operations that must not happen,
// since region splitting keeps control flow only where lanes agree.
void keep_branches_apart(Module& module, PassInstrumentationCallbacks& callbacks) {
  auto functions = std::make_shared<SmallPtrSet<const Function*, 8>>();
  for (const Function& function : module)
    if (has_cross_lane_call(function)) functions->insert(&function);
  callbacks.registerShouldRunOptionalPassCallback([functions](StringRef pass, Any unit) {
    if (pass != "JumpThreadingPass" && pass != "SimpleLoopUnswitchPass") return true;
    const Function* function = nullptr;
    if (auto* found = any_cast<const Function*>(&unit)) function = *found;
    if (auto* loop = any_cast<const Loop*>(&unit)) function = (*loop)->getHeader()->getParent();
    return !functions->contains(function);
  });
}

// Late: until then a product is one call, which moves and joins like any arithmetic.
struct LowerCalls : PassInfoMixin<LowerCalls> {
  static bool isRequired() { return true; }
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    for (Function& function : module) {
      join_gathers(function);
      test_gathers(function);
    }
    lower_packed_dots(module);
    show_half_conversions(module);
    return PreservedAnalyses::none();
  }
};

struct HideHalfConversions : PassInfoMixin<HideHalfConversions> {
  static bool isRequired() { return true; }
  PreservedAnalyses run(Function& function, FunctionAnalysisManager&) {
    hide_half_conversions(function);
    return PreservedAnalyses::none();
  }
};

// Private arrays become values, before other passes see loops over them.
FunctionPassManager dissolve_private_arrays() {
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass());
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(createFunctionToLoopPassAdaptor(LoopRotatePass()));
  LoopPassManager loops;
  loops.addPass(UnrollPrivateArrays());
  loops.addPass(LoopFullUnrollPass());
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(loops)));
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  return passes;
}

// Last steps before loops are vectorised: no guards, no branches on what does not change in the
// loop, no switches.
void prepare_loops(FunctionPassManager& passes) {
  passes.addPass(LoopSimplifyPass());
  passes.addPass(TrimLoops());
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  LoopPassManager loops;
  loops.addPass(LICMPass(LICMOptions()));
  loops.addPass(SimpleLoopUnswitchPass(/*NonTrivial=*/true));
  loops.addPass(LoopDeletionPass());
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(LowerSwitchPass());
  passes.addPass(StageLoads());
  passes.addPass(KeepOrder());
  passes.addPass(HideHalfConversions());
}

}  // namespace

void simplify(Module& module, TargetMachine& machine) {
  Managers managers(machine);
  auto is_plain = [&](const Function& function) {
    return !managers.ptx && !function.isDeclaration() && !has_cross_lane_call(function);
  };
  // Else arithmetic would be narrowed to bfloat. Matrices must stay what they are until they are
  // tiles.
  for (Function& function : module)
    if (is_plain(function)) lower_bfloat(function);
  keep_branches_apart(module, managers.instrumentation);
  ModulePassManager passes;
  passes.addPass(createModuleToFunctionPassAdaptor(dissolve_private_arrays()));
  passes.addPass(
      createModuleToFunctionPassAdaptor(managers.builder.buildFunctionSimplificationPipeline(
          OptimizationLevel::O2, ThinOrFullLTOPhase::None)));
  passes.addPass(GlobalDCEPass());
  passes.run(module, managers.modules);
  // Vectors that calling conventions have made would keep loops over threads from being
  // vectorised. Kernels with cross-lane operations are taken apart with their tier's own passes.
  for (Function& function : module)
    if (is_plain(function)) scalarise(function, machine);
}

void scalarise(Function& entry, TargetMachine& machine) {
  Managers managers(machine);
  ScalarizerPassOptions scalar;
  scalar.ScalarizeLoadStore = true;
  scalar.ScalarizeVariableInsertExtract = true;
  FunctionPassManager passes;
  passes.addPass(LowerSwitchPass());
  passes.addPass(ScalarizerPass(scalar));
  passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  passes.addPass(InstCombinePass());
  // Loads from `constant` memory are known to be invariant only now: what was loaded anew in each
  // round of a loop becomes one value.
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(ADCEPass());
  passes.run(entry, managers.functions);
}

void join_blocks(Function& function, TargetMachine& machine) {
  Managers managers(machine);
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  passes.addPass(ADCEPass());
  passes.addPass(LoopSimplifyPass());
  passes.addPass(createFunctionToLoopPassAdaptor(LoopDeletionPass()));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.run(function, managers.functions);
}

void optimise(Module& module, TargetMachine& machine, OptimizationLevel level) {
  Managers managers(machine);
  if (!managers.ptx)
    for (Function& function : module) lower_bfloat(function);
  managers.builder.registerVectorizerStartEPCallback(
      [](FunctionPassManager& passes, OptimizationLevel) { prepare_loops(passes); });
  managers.builder.registerOptimizerLastEPCallback(
      [&](ModulePassManager& passes, OptimizationLevel asked) {
        passes.addPass(LowerCalls());
        if (!managers.ptx && asked != OptimizationLevel::O0)
          passes.addPass(createModuleToFunctionPassAdaptor(ReadAhead()));
      });
  if (!managers.ptx) offer_packed_dots(module);
  ModulePassManager passes = level == OptimizationLevel::O0
                                 ? managers.builder.buildO0DefaultPipeline(level)
                                 : managers.builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, managers.modules);
}

}  // namespace mlxn::msl
