#include "metal/msl/frontend/preprocess.h"

#include <set>

#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/PreprocessorOutputOptions.h"
#include "clang/Frontend/Utils.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Path.h"
#include "metal/msl/frontend/clang_arguments.h"
#include "metal/msl/frontend/clang_setup.h"
#include "metal/msl/frontend/diagnostics.h"
#include "metal/msl/frontend/frontend.h"
#include "metal/msl/frontend/source_files.h"

namespace mlxn::msl {

namespace {

bool is_built_in(llvm::StringRef path) {
  return path.starts_with(kStdlibFolder) || path.starts_with("<");
}

// Notes the files that are entered, and the built-in headers that are not part of the prelude.
class IncludeRecorder : public clang::PPCallbacks {
 public:
  IncludeRecorder(clang::SourceManager& sources, std::vector<IncludedFile>& files,
                  std::set<std::string>& built_in)
      : sources_(sources), files_(files), built_in_(built_in) {}

  void LexedFileChanged(clang::FileID file, LexedFileChangeReason reason,
                        clang::SrcMgr::CharacteristicKind, clang::FileID,
                        clang::SourceLocation) override {
    if (reason != LexedFileChangeReason::EnterFile) {
      if (depth_ > 0) --depth_;
      return;
    }
    auto entry = sources_.getFileEntryRefForID(file);
    if (entry && !is_built_in(entry->getName()) && file != sources_.getMainFileID())
      files_.push_back({entry->getName().str(), depth_});
    ++depth_;
  }

  void InclusionDirective(clang::SourceLocation place, const clang::Token&, llvm::StringRef name,
                          bool, clang::CharSourceRange, clang::OptionalFileEntryRef file,
                          llvm::StringRef, llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (file && is_built_in(file->getName()) && file->getSize() > 0 &&
        !is_built_in(sources_.getBufferName(place)))
      built_in_.insert(name.str());
  }

 private:
  clang::SourceManager& sources_;
  std::vector<IncludedFile>& files_;
  std::set<std::string>& built_in_;
  uint32_t depth_ = 0;
};

class PreprocessAction : public clang::PreprocessorFrontendAction {
 public:
  PreprocessAction(bool comments, Preprocessed& result, std::set<std::string>& built_in)
      : comments_(comments), result_(result), built_in_(built_in) {}

 protected:
  void ExecuteAction() override {
    clang::Preprocessor& preprocessor = getCompilerInstance().getPreprocessor();
    preprocessor.addPPCallbacks(std::make_unique<IncludeRecorder>(preprocessor.getSourceManager(),
                                                                  result_.files, built_in_));
    clang::PreprocessorOutputOptions options;
    options.ShowCPP = true;
    options.ShowLineMarkers = true;
    options.UseLineDirectives = true;
    options.ShowComments = options.ShowMacroComments = comments_;
    llvm::raw_string_ostream stream(result_.text);
    clang::DoPrintPreprocessedInput(preprocessor, &stream, options);
  }

 private:
  bool comments_;
  Preprocessed& result_;
  std::set<std::string>& built_in_;
};

// The file of a `#line 12 "file"`; empty for other lines.
llvm::StringRef marked_file(llvm::StringRef line) {
  if (!line.consume_front("#line ")) return {};
  size_t quote = line.find('"');
  return quote == llvm::StringRef::npos ? llvm::StringRef() : line.substr(quote + 1).rtrim("\"");
}

// What comes from the user's own files.
std::string user_text(llvm::StringRef text, bool line_marks) {
  std::string result;
  bool own = false;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    llvm::StringRef file = marked_file(line);
    if (!file.empty()) own = !is_built_in(file);
    if (!own || (!file.empty() && !line_marks)) continue;
    result.append(line.begin(), line.end());
    result += '\n';
  }
  return result;
}

}  // namespace

Result<Preprocessed> preprocess(std::string_view source, const CompileOptions& options,
                                const PreprocessRequest& request) {
  std::string diagnostics;
  bool succeeded = false;
  Preprocessed result;
  std::set<std::string> built_in;
  auto work = [&] {
    DiagnosticCollector collector;
    clang::CompilerInstance compiler;
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(source.data(), source.size()), options.source_name);
    std::vector<std::string> everywhere = options.include_dirs;
    everywhere.push_back("/");
    if (set_up(compiler, collector, arguments_for(options, {}, /*precompiled=*/false), *buffer,
               make_file_system(everywhere, nullptr))) {
      PreprocessAction action(request.comments, result, built_in);
      succeeded = compiler.ExecuteAction(action);
    }
    diagnostics = collector.text();
  };
  llvm::CrashRecoveryContext guard;
  if (!guard.RunSafelyOnThread(work, 64u << 20))
    return Error(ErrorCode::kCompileFailed, "the preprocessor crashed on this source");
  if (!succeeded)
    return Error(ErrorCode::kCompileFailed,
                 diagnostics.empty() ? "preprocessing failed without a diagnostic" : diagnostics);
  std::string head;
  for (const std::string& name : built_in) head += "#include <" + name + ">\n";
  result.text = head + user_text(result.text, request.line_marks);
  return result;
}

}  // namespace mlxn::msl
