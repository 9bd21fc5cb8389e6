#include "metal/msl/frontend/frontend.h"

#include <set>

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Parse/Parser.h"
#include "clang/Sema/Sema.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "metal/msl/frontend/address_space_check.h"
#include "metal/msl/frontend/clang_arguments.h"
#include "metal/msl/frontend/clang_setup.h"
#include "metal/msl/frontend/constant_use.h"
#include "metal/msl/frontend/diagnostics.h"
#include "metal/msl/frontend/overload_choice.h"
#include "metal/msl/frontend/pragmas.h"
#include "metal/msl/frontend/prelude.h"
#include "metal/msl/frontend/reflection.h"
#include "metal/msl/frontend/restrictions.h"
#include "metal/msl/frontend/source_files.h"
#include "metal/msl/frontend/swizzles.h"
#include "metal/msl/frontend/threadgroup_variables.h"
#include "metal/msl/frontend/token_rewriter.h"
#include "metal/msl/frontend/token_scanner.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

namespace {

using clang::Token;

// What one run of the front end is asked for and what it finds.
struct Job {
  bool analysis = false;
  bool index_only = false;  // stop after the token scan
  bool reflection = false;  // an analysis of all kernels' declarations; stop there
  bool choosing = false;    // parse only to find out which overloads calls mean
  bool chosen = false;      // `choices` are right
  FrontendRequest request;
  // Results.
  std::vector<EntryPoint> all_entries;
  std::map<std::string, std::set<std::string>> constants_used;  // by function or template; analysis
  std::vector<FunctionConstant> constants;                      // analysis
  std::vector<Kernel> kernels;       // in the order of request.entry_points
  std::vector<std::string> missing;  // requested, not found
  bool needs_choices = false;        // it stopped, since calls depend on `choices`
  OverloadChoices choices;
};

// Runs Clang on the rewritten tokens. After the user's last declaration it adds, in two steps, one
// pointer __msl_fn_<i> to each requested kernel (which instantiates templates and resolves names)
// and, once the AST knows the parameters, the function __msl_entry_<i> that calls it.
class FrontendAction : public clang::EmitLLVMOnlyAction {
 public:
  FrontendAction(Job& job, llvm::LLVMContext* context) : EmitLLVMOnlyAction(context), job_(job) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    if (!generates()) return std::make_unique<clang::ASTConsumer>();
    return without_threadgroup_construction(EmitLLVMOnlyAction::CreateASTConsumer(compiler, file));
  }

  void EndSourceFileAction() override {
    if (generates()) EmitLLVMOnlyAction::EndSourceFileAction();  // expects its own consumer
  }

  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    clang::Preprocessor& preprocessor = compiler.getPreprocessor();
    if (!compiler.hasSema()) compiler.createSema(getTranslationUnitKind(), nullptr);
    clang::Sema& sema = compiler.getSema();
    // The parser registers pragma handlers: it must exist before the first token is lexed.
    clang::Parser parser(preprocessor, sema, /*SkipFunctionBodies=*/false);
    sema.Initialize();
    if (auto* external = sema.getASTContext().getExternalSource())
      external->StartTranslationUnit(&compiler.getASTConsumer());
    add_pragmas(preprocessor);
    preprocessor.EnterMainSourceFile();
    enter_tokens(preprocessor);
    if (job_.index_only || job_.needs_choices) return;
    parser.Initialize();
    parse(parser, compiler.getASTConsumer());
    if (!job_.reflection) compiler.getASTConsumer().HandleTranslationUnit(sema.getASTContext());
  }

 private:
  bool generates() const { return !job_.analysis && !job_.choosing; }

  // Lexes everything, rewrites the user's part and puts the result back as the parser's input.
  void enter_tokens(clang::Preprocessor& preprocessor) {
    clang::SourceManager& sources = preprocessor.getSourceManager();
    std::vector<Token> prelude, user;
    for (;;) {
      Token token;
      preprocessor.Lex(token);
      if (token.is(clang::tok::eof)) break;
      bool in_prelude = user.empty() && is_prelude(sources, token.getLocation());
      (in_prelude ? prelude : user).push_back(token);
    }
    user = join_swizzles(preprocessor, user);
    ScanResult scanned = scan(preprocessor, user);
    job_.needs_choices = scanned.overloads.need_choice() && !job_.choosing && !job_.chosen;
    RewriteOptions options{job_.request.constant_values, job_.choices, job_.analysis};
    std::vector<Token> rewritten = rewrite(preprocessor, user, scanned, options);
    for (EntryPoint& entry : scanned.entry_points)
      entry.plain_parameters = plain_parameters(preprocessor, user, entry.parameters);
    choose_entries(scanned);
    pointers_ = PointerSpaces(user);
    overloads_ = std::move(scanned.overloads);
    kernels_ = std::move(scanned.kernels);
    if (!job_.index_only) check_words(preprocessor, user);
    if (job_.analysis)
      for (const FunctionConstantDecl& constant : scanned.constants)
        constants_[constant.name] = constant.optional;
    // Two empty declarations mark where generated code goes.
    marks_ = lex_text(preprocessor, ";;", "<end>");
    std::vector<Token> stream = std::move(prelude);
    stream.insert(stream.end(), rewritten.begin(), rewritten.end());
    stream.push_back(marks_[0]);
    Token end;
    end.startToken();
    end.setKind(clang::tok::eof);
    end.setLocation(marks_[1].getLocation());
    stream.push_back(end);
    push(preprocessor, stream);
  }

  static bool is_prelude(const clang::SourceManager& sources, clang::SourceLocation location) {
    llvm::StringRef name = sources.getBufferName(sources.getExpansionLoc(location));
    return name.starts_with(kStdlibFolder) || name.starts_with("<");
  }

  static void push(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens) {
    auto copy = std::make_unique<Token[]>(tokens.size());
    std::copy(tokens.begin(), tokens.end(), copy.get());
    preprocessor.EnterTokenStream(std::move(copy), tokens.size(), /*DisableMacroExpansion=*/true,
                                  /*IsReinject=*/false);
  }

  // Decides which kernels get code (or, in analysis, are checked).
  void choose_entries(const ScanResult& scanned) {
    job_.all_entries = scanned.entry_points;
    if (job_.analysis) {
      std::set<std::string> seen;
      for (const EntryPoint& entry : scanned.entry_points) {
        const std::string& one = job_.reflection ? entry.name : entry.base_name;
        if (seen.insert(one).second) entries_.push_back(entry);
      }
      return;
    }
    for (const std::string& name : job_.request.entry_points) {
      auto found = std::find_if(scanned.entry_points.begin(), scanned.entry_points.end(),
                                [&](const EntryPoint& entry) { return entry.name == name; });
      if (found == scanned.entry_points.end())
        job_.missing.push_back(name);
      else
        entries_.push_back(*found);
    }
  }

  void parse(clang::Parser& parser, clang::ASTConsumer& consumer) {
    clang::Parser::DeclGroupPtrTy group;
    clang::Sema::ModuleImportState import_state;
    int stage = 0;
    bool at_end = parser.ParseFirstTopLevelDecl(group, import_state);
    while (!at_end) {
      if (group) {
        for (clang::Decl* declaration : group.get()) {
          note(declaration);
          declarations_.push_back(declaration);
        }
        consumer.HandleTopLevelDecl(group.get());
      }
      bool marked = parser.getCurToken().getLocation() == marks_[0].getLocation();
      if (marked && stage < 2 && !parser.getPreprocessor().getDiagnostics().hasErrorOccurred()) {
        std::vector<Token> generated = stage == 0 ? function_pointers(parser.getPreprocessor())
                                                  : entry_functions(parser.getPreprocessor());
        if (stage == 0) generated.push_back(marks_[0]);  // come back for the second step
        if (stage == 1 && job_.reflection) return;
        push(parser.getPreprocessor(), generated);
        ++stage;
      }
      at_end = parser.ParseTopLevelDecl(group, import_state);
    }
    if (parser.getPreprocessor().getDiagnostics().hasErrorOccurred()) return;
    UserCode code = collect_user_code(declarations_);
    SpaceFinder finder(getCompilerInstance().getSourceManager(), pointers_, overloads_);
    if (job_.choosing) {
      job_.choices = choose_overloads(code, finder);
      return;
    }
    check_restrictions(code, kernels_);
    check_address_spaces(code, finder);
    if (!job_.analysis) return;
    read_constants();
    for (size_t i = 0; i < entries_.size(); ++i)
      if (const clang::FunctionDecl* function = function_of(str("__msl_fn_", i)))
        job_.constants_used[entries_[i].base_name] = constants_used_by(*function, constants_);
  }

  // Remembers variables that carry information out of the parse.
  void note(clang::Decl* declaration) {
    if (auto* scope = llvm::dyn_cast<clang::NamespaceDecl>(declaration)) {
      if (scope->getName() != "metal")
        for (clang::Decl* inner : scope->decls()) note(inner);
      return;
    }
    auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration);
    if (!variable || !variable->getDeclName().isIdentifier()) return;
    llvm::StringRef name = variable->getName();
    if (name.starts_with("__msl_fn_") || name.starts_with("__msl_fc_index_") ||
        constants_.count(name.str()))
      variables_[name.str()] = variable;
  }

  // namespace N { static constexpr auto* __msl_fn_0 = &kernel<float>; }
  std::vector<Token> function_pointers(clang::Preprocessor& preprocessor) {
    std::vector<Token> tokens;
    auto text = [&](const std::string& code) {
      for (const Token& token : lex_text(preprocessor, code, "<entry>")) tokens.push_back(token);
    };
    for (size_t i = 0; i < entries_.size(); ++i) {
      std::string open;
      for (const std::string& scope : entries_[i].scope) open += "namespace " + scope + " {";
      text(str(open, "static constexpr auto* __msl_fn_", i, " = "));
      // A cast to the declared type deduces template arguments that the source leaves out.
      if (!entries_[i].plain_parameters.empty()) {
        text("(void (*)");
        tokens.insert(tokens.end(), entries_[i].plain_parameters.begin(),
                      entries_[i].plain_parameters.end());
        text(")");
      }
      // Qualified, since a kernel may be named like a function of the standard library.
      text("&::");
      for (const std::string& scope : entries_[i].scope)
        if (!scope.empty()) text(scope + "::");
      tokens.insert(tokens.end(), entries_[i].callee.begin(), entries_[i].callee.end());
      text(";" + std::string(entries_[i].scope.size(), '}'));
    }
    return tokens;
  }

  std::vector<Token> entry_functions(clang::Preprocessor& preprocessor) {
    std::string code;
    for (size_t i = 0; i < entries_.size(); ++i) {
      const clang::FunctionDecl* function = function_of(str("__msl_fn_", i));
      if (!function) continue;
      std::string scope;
      for (const std::string& part : entries_[i].scope)
        if (!part.empty()) scope += part + "::";
      std::string pointer = str(scope, "__msl_fn_", i), parameters = str("__msl_parameters_", i);
      auto reflected =
          reflect(getCompilerInstance().getASTContext(), *function, entries_[i].name, parameters);
      if (!reflected) continue;
      if (job_.analysis) {
        job_.kernels.push_back(std::move(reflected->kernel));
        continue;
      }
      std::string symbol = str("__msl_entry_", i);
      code +=
          str("using ", parameters, " = __msl_parameters<decltype(", pointer, ")>;\n",
              "extern \"C\" void ", symbol,
              "(const MslDispatch*, MslThreadgroup*, unsigned, unsigned, unsigned, unsigned) { ",
              pointer, "(", reflected->call_arguments, "); }\n");
      reflected->kernel.symbol = symbol;
      job_.kernels.push_back(std::move(reflected->kernel));
    }
    return lex_text(preprocessor, code, "<entry>");
  }

  const clang::FunctionDecl* function_of(const std::string& variable) {
    auto found = variables_.find(variable);
    if (found == variables_.end() || !found->second->getInit()) return nullptr;
    const clang::Expr* init = found->second->getInit()->IgnoreParenCasts();
    if (const auto* address = llvm::dyn_cast<clang::UnaryOperator>(init))
      init = address->getSubExpr()->IgnoreParenImpCasts();
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(init);
    return reference ? llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl()) : nullptr;
  }

  void read_constants() {
    clang::ASTContext& context = getCompilerInstance().getASTContext();
    for (const auto& [name, index] : variables_) {
      if (name.rfind("__msl_fc_index_", 0) != 0 || index->isInvalidDecl() || !index->getInit())
        continue;
      clang::Expr::EvalResult value;
      std::string constant = name.substr(15);
      auto variable = variables_.find(constant);
      if (variable == variables_.end() || index->getInit()->isValueDependent() ||
          !index->getInit()->EvaluateAsInt(value, context))
        continue;
      FunctionConstant entry;
      entry.name = constant;
      entry.index = uint32_t(value.Val.getInt().getZExtValue());
      entry.type = data_type_of(variable->second->getType());
      entry.required = !constants_[constant];
      job_.constants.push_back(std::move(entry));
    }
  }

  Job& job_;
  std::vector<EntryPoint> entries_;
  std::map<std::string, bool> constants_;  // name -> optional
  std::map<std::string, clang::VarDecl*> variables_;
  std::vector<clang::Decl*> declarations_;  // of the user, at the top
  PointerSpaces pointers_;
  OverloadSets overloads_;
  std::set<unsigned> kernels_;  // locations of their names
  std::vector<Token> marks_;
};

// Runs the front end, guarded: a crash inside Clang becomes an error.
Status run_once(std::string_view source, const CompileOptions& options, Job& job,
                llvm::LLVMContext& context, std::unique_ptr<llvm::Module>* module) {
  std::string diagnostics;
  bool succeeded = false;
  auto work = [&] {
    DiagnosticCollector collector;
    clang::CompilerInstance compiler;
    auto prelude = precompiled_prelude(language_arguments(options, job.request.target));
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(source.data(), source.size()), options.source_name);
    if (!set_up(compiler, collector, arguments_for(options, job.request, prelude != nullptr),
                *buffer, make_file_system(options.include_dirs, prelude.get()))) {
      diagnostics = collector.text();
      return;
    }
    FrontendAction action(job, &context);
    succeeded = compiler.ExecuteAction(action);
    if (succeeded && module) *module = action.takeModule();
    diagnostics = collector.text();
  };
  llvm::CrashRecoveryContext guard;
  if (!guard.RunSafelyOnThread(work, 64u << 20))
    return Error(ErrorCode::kCompileFailed, "the compiler front end crashed on this source");
  if (!succeeded || (module && !*module))
    return Error(ErrorCode::kCompileFailed,
                 diagnostics.empty() ? "compilation failed without a diagnostic" : diagnostics);
  return {};
}

// Runs the front end. Which overload a call means may depend on what calls in an overload's body
// mean, so it is found in rounds, each of which knows what the last one found.
Status run_frontend(std::string_view source, const CompileOptions& options, Job& job,
                    llvm::LLVMContext& context, std::unique_ptr<llvm::Module>* module) {
  constexpr int kRounds = 16;
  Job first = job;
  Status status = run_once(source, options, job, context, module);
  if (!job.needs_choices) return status;
  for (int round = 0; round < kRounds && !first.chosen; ++round) {
    Job attempt = first;
    attempt.choosing = true;
    llvm::LLVMContext unused;
    MLXN_TRY(run_once(source, options, attempt, unused, nullptr));
    first.chosen = attempt.choices == first.choices;
    first.choices = std::move(attempt.choices);
  }
  if (!first.chosen)
    return Error(ErrorCode::kCompileFailed,
                 str("overloads that differ only in address space call each other more than ",
                     kRounds, " levels deep"));
  job = std::move(first);
  return run_once(source, options, job, context, module);
}

}  // namespace

Result<LibraryInfo> analyse(std::string_view source, const CompileOptions& options) {
  Job job;
  job.analysis = true;
  llvm::LLVMContext context;
  MLXN_TRY(run_frontend(source, options, job, context, nullptr));
  LibraryInfo info;
  info.constants = job.constants;
  std::set<std::string> seen;
  for (const EntryPoint& entry : job.all_entries) {
    if (!seen.insert(entry.name).second) continue;
    FunctionInfo function;
    function.name = entry.name;
    for (const FunctionConstant& constant : job.constants)
      if (job.constants_used[entry.base_name].count(constant.name))
        function.constants.push_back(constant);
    info.functions.push_back(std::move(function));
  }
  return info;
}

Result<std::vector<std::string>> index_entry_points(std::string_view source,
                                                    const CompileOptions& options) {
  Job job;
  job.analysis = job.index_only = true;
  llvm::LLVMContext context;
  Status status = run_frontend(source, options, job, context, nullptr);
  std::vector<std::string> names;
  for (const EntryPoint& entry : job.all_entries) names.push_back(entry.name);
  if (!status && names.empty()) return std::move(status).error();
  return names;
}

Result<std::vector<Kernel>> reflect_kernels(std::string_view source,
                                            const CompileOptions& options) {
  Job job;
  job.analysis = job.reflection = true;
  llvm::LLVMContext context;
  MLXN_TRY(run_frontend(source, options, job, context, nullptr));
  return std::move(job.kernels);
}

Result<FrontendModule> generate(std::string_view source, const CompileOptions& options,
                                const FrontendRequest& request) {
  Job job;
  job.request = request;
  FrontendModule result;
  result.context = std::make_unique<llvm::LLVMContext>();
  MLXN_TRY(run_frontend(source, options, job, *result.context, &result.module));
  if (!job.missing.empty())
    return Error(ErrorCode::kFunctionNotFound,
                 str("no kernel named '", job.missing.front(), "' in this library"));
  result.kernels = std::move(job.kernels);
  return result;
}

}  // namespace mlxn::msl
