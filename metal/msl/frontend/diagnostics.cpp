#include "metal/msl/frontend/diagnostics.h"

#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallString.h"

namespace mlxn::msl {

namespace {

llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> make_options() {
  auto options = llvm::makeIntrusiveRefCnt<clang::DiagnosticOptions>();
  options->ShowColors = false;
  options->ShowOptionNames = false;
  options->ShowFixits = false;
  options->ShowPresumedLoc = true;  // #line counts
  return options;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t i = 0; (i = text.find(from, i)) != std::string::npos; i += to.size())
    text.replace(i, from.size(), to);
}

// What Clang says of an assignment to a swizzle of a value, in the words of MSL.
void name_assignments(std::string& text) {
  constexpr std::string_view kBegin = "'this' argument to member function '__put_",
                             kEnd = "lvalue ref-qualifier";
  for (size_t i = 0; (i = text.find(kBegin, i)) != std::string::npos;) {
    size_t end = text.find(kEnd, i);
    if (end == std::string::npos) return;
    text.replace(i, end + kEnd.size() - i, "a part of a temporary vector is not assignable");
  }
}

}  // namespace

DiagnosticCollector::DiagnosticCollector()
    : stream_(buffer_), options_(make_options()), printer_(stream_, options_.get()) {}

void DiagnosticCollector::BeginSourceFile(const clang::LangOptions& options,
                                          const clang::Preprocessor* preprocessor) {
  printer_.BeginSourceFile(options, preprocessor);
}

void DiagnosticCollector::EndSourceFile() {
  report_hidden(nullptr);
  printer_.EndSourceFile();
}

bool DiagnosticCollector::is_user_location(const clang::Diagnostic& diagnostic) const {
  if (!diagnostic.hasSourceManager() || diagnostic.getLocation().isInvalid()) return false;
  const clang::SourceManager& sources = diagnostic.getSourceManager();
  clang::SourceLocation place = sources.getExpansionLoc(diagnostic.getLocation());
  if (sources.isInSystemHeader(place)) return false;
  llvm::StringRef name = sources.getBufferName(place);
  return !name.starts_with("<") && !name.starts_with("/msl/");
}

// Prints the error that waits, at `place` or without one.
void DiagnosticCollector::report_hidden(const clang::Diagnostic* place) {
  if (hidden_error_.empty()) return;
  if (place) {
    clang::PresumedLoc at = place->getSourceManager().getPresumedLoc(place->getLocation());
    stream_ << at.getFilename() << ":" << at.getLine() << ":" << at.getColumn() << ": ";
  }
  stream_ << "error: " << hidden_error_ << "\n";
  hidden_error_.clear();
}

void DiagnosticCollector::HandleDiagnostic(clang::DiagnosticsEngine::Level level,
                                           const clang::Diagnostic& diagnostic) {
  DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
  bool user = is_user_location(diagnostic);
  if (level == clang::DiagnosticsEngine::Note) {
    if (!hidden_error_.empty()) {
      if (user) report_hidden(&diagnostic);
      return;
    }
    if (user && !skip_notes_) printer_.HandleDiagnostic(level, diagnostic);
    return;
  }
  report_hidden(nullptr);
  skip_notes_ = false;
  if (level < clang::DiagnosticsEngine::Warning) return;
  if (user || (diagnostic.getLocation().isInvalid() && level >= clang::DiagnosticsEngine::Error)) {
    printer_.HandleDiagnostic(level, diagnostic);
  } else if (level >= clang::DiagnosticsEngine::Error) {
    llvm::SmallString<128> message;
    diagnostic.FormatDiagnostic(message);
    hidden_error_ = std::string(message);
    skip_notes_ = true;
  }
}

std::string DiagnosticCollector::text() {
  report_hidden(nullptr);
  std::string text = stream_.str();
  name_assignments(text);
  replace_all(text, "_Float16", "half");
  replace_all(text, "__bf16", "bfloat");
  replace_all(text, "__msl_static_cast", "static_cast");
  for (size_t i = 0; (i = text.find("__msl_space", i)) != std::string::npos;)
    text.erase(i, text.find_first_not_of("0123456789", i + 11) - i);
  return text;
}

}  // namespace mlxn::msl
