// The compiler module: front end, lowering and code generation behind msl::Compiler.
#include <set>

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "metal/msl/codegen/llvm_setup.h"
#include "metal/msl/codegen/machine_code.h"
#include "metal/msl/frontend/constant_values.h"
#include "metal/msl/frontend/frontend.h"
#include "metal/msl/frontend/preprocess.h"
#include "metal/msl/interface.h"
#include "metal/msl/kernel_abi.h"
#include "metal/msl/module.h"
#include "metal/msl/passes/coroutine.h"
#include "metal/msl/passes/cross_lane.h"
#include "metal/msl/passes/explain.h"
#include "metal/msl/passes/inline_all.h"
#include "metal/msl/passes/lower_ptx.h"
#include "metal/msl/passes/private_memory.h"
#include "metal/msl/passes/queries.h"
#include "metal/msl/passes/semantics.h"
#include "metal/msl/passes/symbols.h"
#include "metal/msl/passes/tiles.h"
#include "metal/msl/recipes/lower_cpu.h"
#include "metal/msl/recipes/pipelines.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

namespace {

// An argument that optimisation removed has no users left.
void find_active_arguments(const llvm::Function& entry, Kernel& kernel) {
  std::set<std::pair<bool, uint64_t>> used;
  for (const llvm::BasicBlock& block : entry)
    for (const llvm::Instruction& instruction : block) {
      std::optional<Query> query = query_of(instruction);
      if (!query || instruction.use_empty()) continue;
      bool threadgroup = query->name == "__msl_threadgroup_address";
      if (threadgroup || query->name == "__msl_buffer_address" ||
          query->name == "__msl_constant_address")
        used.insert({threadgroup, query->index});
    }
  for (ArgumentInfo& argument : kernel.arguments)
    argument.active =
        used.count({argument.kind == ArgumentKind::kThreadgroupMemory, argument.index}) > 0;
}

Status check_threadgroup_memory(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels)
    if (kernel.static_threadgroup_bytes > MSL_MAX_THREADGROUP_BYTES)
      return Error(
          ErrorCode::kCompileFailed,
          str("kernel '", kernel.name, "' declares ", kernel.static_threadgroup_bytes,
              " bytes of threadgroup memory, expected at most ", MSL_MAX_THREADGROUP_BYTES));
  return {};
}

// "native" means the processor this runs on.
Target resolved(Target target) {
  if (target.cpu != "native") return target;
  target.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    target.features +=
        str(target.features.empty() ? "" : ",", feature.second ? "+" : "-", feature.first().str());
  return target;
}

// The explanations of the kernels, with the loops that LLVM leaves scalar when it optimises them.
std::string with_loops(llvm::Module& module, llvm::TargetMachine& machine,
                       const std::vector<Kernel>& kernels,
                       const std::vector<Explanation>& explanations) {
  if (explanations.empty()) return {};  // not for a processor
  std::vector<ScalarLoop> loops;
  note_scalar_loops(module.getContext(), loops);
  optimise(module, machine, llvm::OptimizationLevel::O3);
  std::string text;
  for (size_t i = 0; i < kernels.size(); ++i)
    text +=
        explanations[i].text + (explanations[i].of_loops ? explain_loops(kernels[i], loops) : "");
  return text;
}

class LibraryImpl : public Library {
 public:
  LibraryImpl(std::string source, CompileOptions options, LibraryInfo info)
      : source_(std::move(source)), options_(std::move(options)), info_(std::move(info)) {}

  const LibraryInfo& info() const override { return info_; }

  Result<Image> compile(const CompileRequest& request) const override {
    FrontendRequest wanted;
    wanted.entry_points = request.entry_points;
    if (wanted.entry_points.empty())
      for (const FunctionInfo& function : info_.functions)
        wanted.entry_points.push_back(function.name);
    wanted.target = resolved(request.target);
    wanted.line_numbers = request.emit == Emit::kExplanation;
    MLXN_ASSIGN(wanted.constant_values, constant_initialisers(info_.constants, request.constants));
    MLXN_ASSIGN(FrontendModule frontend, generate(source_, options_, wanted));
    Result<Image> result =
        Error(ErrorCode::kCompileFailed, "the code generator crashed on this kernel");
    llvm::CrashRecoveryContext guard;
    if (!guard.RunSafelyOnThread([&] { result = lower(frontend, request, wanted.target); },
                                 64u << 20))
      return Error(ErrorCode::kCompileFailed, "the code generator crashed on this kernel");
    return result;
  }

 private:
  Result<Image> lower(FrontendModule& frontend, const CompileRequest& request,
                      const Target& target) const {
    llvm::Module& module = *frontend.module;
    std::string messages;
    collect_messages(module.getContext(), messages);
    bool ptx = request.target.kind == Target::Kind::kPtx;
    MLXN_ASSIGN(auto machine, make_target_machine(target));
    module.setDataLayout(machine->createDataLayout());
    use_wide_vectors(module);
    MLXN_TRY(name_queries(module));
    lower_annotations(module);
    drop_initialisers(module);
    define_semantics(module, /*for_processor=*/!ptx);
    MLXN_TRY(inline_all(module, frontend.kernels));
    keep_copied_bytes(module);
    number_sites(module);
    describe_matrix_memory(module);
    if (request.optimise) simplify(module, *machine);
    MLXN_TRY(check_symbols(module, info_.constants, request.allow_unset_constants));
    MLXN_TRY(check_lane_operations(module));
    for (Kernel& kernel : frontend.kernels) {
      llvm::Function& entry = *module.getFunction(kernel.symbol);
      find_active_arguments(entry, kernel);
      if (request.optimise)
        MLXN_TRY(check_private_memory(entry, kernel));
      else
        set_arrays_apart(entry);
    }
    std::vector<Explanation> explanations;
    bool explains = request.emit == Emit::kExplanation;
    if (ptx) {
      MLXN_TRY(lower_to_ptx(module, frontend.kernels));
      if (!request.libdevice.empty()) MLXN_TRY(link_libdevice(module, request.libdevice));
    } else {
      lower_to_cpu(module, frontend.kernels, request, *machine, explains ? &explanations : nullptr);
    }
    MLXN_TRY(check_threadgroup_memory(frontend.kernels));
    Image image;
    image.target = request.target.to_key();
    if (explains) {
      const std::string explanation = with_loops(module, *machine, frontend.kernels, explanations);
      image.code.assign(explanation.begin(), explanation.end());
      image.kernels = std::move(frontend.kernels);
      return image;
    }
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module, &stream))
      return Error(ErrorCode::kInternal, "generated code is not valid: " + problem);
    if (request.emit != Emit::kLoweredIr)
      optimise(module, *machine,
               request.optimise ? llvm::OptimizationLevel::O3 : llvm::OptimizationLevel::O0);
    for (Kernel& kernel : frontend.kernels)
      if (kernel.tier == Tier::kCoroutine && !ptx)
        MLXN_TRY(read_frame_size(*module.getFunction(kernel.symbol), kernel));
    MLXN_ASSIGN(image.code, emit(module, *machine, request.emit));
    if (!messages.empty()) return Error(ErrorCode::kCompileFailed, messages);
    image.kernels = std::move(frontend.kernels);
    return image;
  }

  std::string source_;
  CompileOptions options_;
  LibraryInfo info_;
};

class CompilerImpl : public Compiler {
 public:
  CompilerImpl() { set_up_llvm(); }

  Result<std::unique_ptr<Library>> create_library(std::string_view source,
                                                  const CompileOptions& options) const override {
    MLXN_ASSIGN(LibraryInfo info, analyse(source, options));
    return std::unique_ptr<Library>(new LibraryImpl(std::string(source), options, std::move(info)));
  }
  Result<std::vector<std::string>> entry_points(std::string_view source,
                                                const CompileOptions& options) const override {
    return index_entry_points(source, options);
  }
  Result<Preprocessed> preprocess(std::string_view source, const CompileOptions& options,
                                  const PreprocessRequest& request) const override {
    return msl::preprocess(source, options, request);
  }
  Result<std::vector<Kernel>> kernels(std::string_view source,
                                      const CompileOptions& options) const override {
    return reflect_kernels(source, options);
  }
  std::string version() const override { return code_version(); }
};

}  // namespace

}  // namespace mlxn::msl

// The module's only exported symbol. `expected` guards against a module of another build.
extern "C" __attribute__((visibility("default"))) const mlxn::msl::Compiler* mlxn_msl_compiler(
    const char* expected) {
  static const mlxn::msl::CompilerImpl compiler;
  return compiler.version() == expected ? &compiler : nullptr;
}
