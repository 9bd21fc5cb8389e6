#include "metal/msl/frontend/prelude.h"

#include <map>
#include <mutex>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Serialization/ASTWriter.h"
#include "clang/Serialization/PCHContainerOperations.h"
#include "metal/msl/frontend/clang_setup.h"
#include "metal/msl/frontend/source_files.h"

namespace mlxn::msl {

namespace {

constexpr const char* kPreludeText = "#include \"msl_prelude.h\"\n#include \"msl_entry.h\"\n";

// Parses the prelude and keeps the precompiled form in memory.
class PreludeAction : public clang::ASTFrontendAction {
 public:
  std::shared_ptr<clang::PCHBuffer> buffer = std::make_shared<clang::PCHBuffer>();

  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  bool usesPreprocessorOnly() const override { return false; }

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<clang::PCHGenerator>(
        compiler.getPreprocessor(), compiler.getModuleCache(), kPreludePch, /*isysroot=*/"", buffer,
        llvm::ArrayRef<std::shared_ptr<clang::ModuleFileExtension>>(), /*AllowASTWithErrors=*/false,
        /*IncludeTimestamps=*/false);
  }
};

std::shared_ptr<const llvm::MemoryBuffer> build(
    const std::vector<std::string>& language_arguments) {
  clang::IgnoringDiagConsumer silent;
  clang::CompilerInstance compiler;
  auto source = llvm::MemoryBuffer::getMemBuffer(kPreludeText, "/msl/prelude");
  if (!set_up(compiler, silent, language_arguments, *source, make_file_system({}))) return nullptr;
  PreludeAction action;
  if (!compiler.ExecuteAction(action) || !action.buffer->IsComplete) return nullptr;
  llvm::StringRef bytes(action.buffer->Data.data(), action.buffer->Data.size());
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, kPreludePch);
}

}  // namespace

std::shared_ptr<const llvm::MemoryBuffer> precompiled_prelude(
    const std::vector<std::string>& language_arguments) {
  static std::mutex mutex;
  static auto& built =
      *new std::map<std::vector<std::string>, std::shared_ptr<const llvm::MemoryBuffer>>();
  std::lock_guard lock(mutex);
  auto [position, fresh] = built.try_emplace(language_arguments);
  if (fresh) position->second = build(language_arguments);
  return position->second;
}

}  // namespace mlxn::msl
