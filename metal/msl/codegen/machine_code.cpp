#include "metal/msl/codegen/machine_code.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using namespace llvm;

namespace {

// Vectors that registers have no room for go to the stack, which LLVM aligns for them only if it is
// told before it knows of them. On a stack that is aligned as usual they lie across cache lines.
void align_stacks(Module& module) {
  for (Function& function : module) {
    StringRef features = function.getFnAttribute("target-features").getValueAsString();
    const bool has_vectors = any_of(instructions(function), [](const Instruction& instruction) {
      return instruction.getType()->isVectorTy();
    });
    if (!has_vectors || !features.contains("+avx")) continue;
    const Align width(features.contains("+avx512f") ? 64 : 32);
    function.addFnAttr(Attribute::getWithStackAlignment(module.getContext(), width));
  }
}

}  // namespace

void collect_messages(LLVMContext& context, std::string& errors) {
  struct Collector : DiagnosticHandler {
    explicit Collector(std::string& errors) : errors(errors) {}
    bool handleDiagnostics(const DiagnosticInfo& info) override {
      if (info.getSeverity() != DS_Error) return true;
      raw_string_ostream stream(errors);
      DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      stream << "\n";
      return true;
    }
    std::string& errors;
  };
  context.setDiagnosticHandler(std::make_unique<Collector>(errors));
}

Result<std::unique_ptr<TargetMachine>> make_target_machine(const mlxn::msl::Target& target) {
  bool ptx = target.kind == mlxn::msl::Target::Kind::kPtx;
  std::string triple = ptx ? "nvptx64-nvidia-cuda" : "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target* found = TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return Error(ErrorCode::kUnsupported, str("no code generator for ", triple, ": ", error));
  std::string features = target.features;
  if (ptx) features = features.empty() ? "+ptx80" : features + ",+ptx80";
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, features, options, Reloc::PIC_,
                                 CodeModel::Small, CodeGenOptLevel::Aggressive));
  if (!machine)
    return Error(ErrorCode::kUnsupported, str("no code generator for ", triple, " ", target.cpu));
  return machine;
}

void use_wide_vectors(Module& module) {
  for (Function& function : module) {
    StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (!features.contains("+avx512f")) continue;
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("min-legal-vector-width", "512");
  }
}

Result<std::vector<uint8_t>> emit(Module& module, TargetMachine& machine, Emit what) {
  SmallVector<char, 0> buffer;
  raw_svector_ostream stream(buffer);
  if (what == Emit::kLlvmIr || what == Emit::kLoweredIr) {
    module.print(stream, nullptr);
  } else {
    bool text = what == Emit::kAssembly || machine.getTargetTriple().isNVPTX();
    if (machine.getTargetTriple().isX86()) align_stacks(module);
    legacy::PassManager passes;
    if (machine.addPassesToEmitFile(
            passes, stream, nullptr,
            text ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile))
      return Error(ErrorCode::kInternal, "the target cannot emit this kind of file");
    passes.run(module);
  }
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

}  // namespace mlxn::msl
