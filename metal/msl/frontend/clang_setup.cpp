#include "metal/msl/frontend/clang_setup.h"

#include "clang/Frontend/CompilerInvocation.h"
#include "llvm/Support/raw_ostream.h"

namespace mlxn::msl {

bool set_up(clang::CompilerInstance& compiler, clang::DiagnosticConsumer& diagnostics,
            const std::vector<std::string>& arguments, const llvm::MemoryBuffer& source,
            llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files) {
  compiler.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  pointers.push_back("placeholder");  // the input; replaced by memory below
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, compiler.getDiagnostics()))
    return false;
  auto& inputs = invocation->getFrontendOpts().Inputs;
  inputs.clear();
  inputs.emplace_back(source.getMemBufferRef(), clang::InputKind(clang::Language::CXX));
  compiler.setInvocation(invocation);
  compiler.createDiagnostics(&diagnostics,
                             /*ShouldOwnClient=*/false);  // with the invocation's options
  compiler.createFileManager(std::move(files));
  compiler.setVerboseOutputStream(llvm::nulls());
  return true;
}

}  // namespace mlxn::msl
