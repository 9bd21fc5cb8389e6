#pragma once

#include <memory>
#include <string>

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "llvm/Support/raw_ostream.h"

namespace mlxn::msl {

// Collects errors as "file:line:column: error: text" with the source line and a caret. Places
// inside our own headers never show: an error there is reported where the user's code led to it.
class DiagnosticCollector : public clang::DiagnosticConsumer {
 public:
  DiagnosticCollector();

  void BeginSourceFile(const clang::LangOptions& options,
                       const clang::Preprocessor* preprocessor) override;
  void EndSourceFile() override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                        const clang::Diagnostic& diagnostic) override;

  // Everything reported, with types spelled as MSL spells them.
  std::string text();

 private:
  bool is_user_location(const clang::Diagnostic& diagnostic) const;
  void report_hidden(const clang::Diagnostic* place);

  std::string buffer_;
  llvm::raw_string_ostream stream_;
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options_;
  clang::TextDiagnosticPrinter printer_;
  std::string hidden_error_;  // an error inside our headers that waits for a place in user code
  bool skip_notes_ = false;
};

}  // namespace mlxn::msl
