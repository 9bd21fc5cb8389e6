#include "metal/msl/frontend/restrictions.h"

#include <map>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "mlxn/base/strings.h"

namespace mlxn::msl {

using clang::FunctionDecl;
using llvm::dyn_cast;
namespace tok = clang::tok;

void check_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens) {
  auto& diagnostics = preprocessor.getDiagnostics();
  unsigned id =
      diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "'%0' is not allowed in MSL%1");
  for (size_t i = 0; i < tokens.size(); ++i) {
    const char* reason = nullptr;
    switch (tokens[i].getKind()) {
      case tok::kw_double: reason = ": there is no type of 64 bits with a fraction"; break;
      case tok::kw_goto:
      case tok::kw_virtual: reason = ""; break;
      case tok::kw___thread:
      case tok::kw_thread_local: reason = ": variables of a function are a thread's own"; break;
      case tok::kw_new: reason = ": there is no heap"; break;
      case tok::kw_delete:
        if (i > 0 && tokens[i - 1].isOneOf(tok::equal, tok::kw_operator)) break;
        reason = ": there is no heap";
        break;
      case tok::kw_try:
      case tok::kw_catch:
      case tok::kw_throw: reason = ": there are no exceptions"; break;
      case tok::kw_dynamic_cast:
      case tok::kw_typeid: reason = ": types are not known at run time"; break;
      default: break;
    }
    if (reason)
      diagnostics.Report(tokens[i].getLocation(), id)
          << tokens[i].getIdentifierInfo()->getName() << reason;
  }
}

namespace {

void check_variable(const clang::VarDecl& variable) {
  clang::QualType element = variable.getASTContext().getBaseElementType(variable.getType());
  if (!variable.hasGlobalStorage() || element.isConstQualified() ||
      variable.getType()->isReferenceType())
    return;
  report_error(variable, variable.getLocation(),
               str(variable.isStaticLocal() ? "static variable '" : "variable at program scope '",
                   variable.getNameAsString(), "' must be in the constant address space"));
}

// Adds the calls that a function ends with. One of itself is a loop.
void find_tail_calls(const clang::Stmt* statement, std::set<const clang::Stmt*>& calls) {
  if (!statement) return;
  if (const auto* list = dyn_cast<clang::CompoundStmt>(statement)) {
    if (!list->body_empty()) find_tail_calls(list->body_back(), calls);
  } else if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) {
    find_tail_calls(branch->getThen(), calls);
    find_tail_calls(branch->getElse(), calls);
  } else if (const auto* result = dyn_cast<clang::ReturnStmt>(statement)) {
    find_tail_calls(result->getRetValue(), calls);
  } else if (const auto* expression = dyn_cast<clang::Expr>(statement)) {
    const clang::Expr* value = expression->IgnoreUnlessSpelledInSource();
    if (const auto* choice = dyn_cast<clang::ConditionalOperator>(value)) {
      find_tail_calls(choice->getTrueExpr(), calls);
      find_tail_calls(choice->getFalseExpr(), calls);
    } else {
      calls.insert(value);
    }
  }
}

class CallChecker {
 public:
  explicit CallChecker(const std::set<unsigned>& kernels) : kernels_(kernels) {}

  void run(const UserCode& code) {
    for (const FunctionDecl* function : code.functions) read(*function);
    for (const FunctionDecl* function : code.functions) visit(function->getCanonicalDecl());
  }

 private:
  struct Call {
    const FunctionDecl* callee;
    clang::SourceLocation place;
  };
  enum class State { kNew, kOpen, kDone };

  // The end of the body, and every return.
  static void add_tail_returns(const FunctionDecl& function,
                               std::set<const clang::Stmt*>& tail_calls) {
    if (function.getReturnType()->isVoidType()) find_tail_calls(function.getBody(), tail_calls);
    for_each_statement(function, [&](const clang::Stmt& statement) {
      if (llvm::isa<clang::ReturnStmt>(statement)) find_tail_calls(&statement, tail_calls);
    });
  }

  void read(const FunctionDecl& function) {
    std::vector<Call>& calls = calls_[function.getCanonicalDecl()];
    std::set<const clang::Stmt*> tail_calls;
    add_tail_returns(function, tail_calls);
    for_each_statement(function, [&](const clang::Stmt& statement) {
      const FunctionDecl* callee = nullptr;
      if (const auto* call = dyn_cast<clang::CallExpr>(&statement))
        callee = call->getDirectCallee();
      else if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&statement))
        callee = construction->getConstructor();
      else if (const auto* declarations = dyn_cast<clang::DeclStmt>(&statement))
        for (const clang::Decl* declaration : declarations->decls())
          if (const auto* variable = dyn_cast<clang::VarDecl>(declaration))
            check_variable(*variable);
      if (!callee) return;
      if (kernels_.count(callee->getLocation().getRawEncoding()))
        report_error(function, statement.getBeginLoc(),
                     str("kernel '", callee->getNameAsString(), "' cannot be called"));
      callee = callee->getCanonicalDecl();
      if (callee == function.getCanonicalDecl() && tail_calls.count(&statement)) return;
      calls.push_back({callee, statement.getBeginLoc()});
    });
  }

  void visit(const FunctionDecl* function) {
    State& state = states_[function];
    if (state != State::kNew) return;
    state = State::kOpen;
    if (auto found = calls_.find(function); found != calls_.end())
      for (const Call& call : found->second) {
        if (states_[call.callee] == State::kOpen)
          report_error(*function, call.place,
                       str("recursive functions are not allowed: '", call.callee->getNameAsString(),
                           "' leads back to itself"));
        visit(call.callee);
      }
    states_[function] = State::kDone;
  }

  const std::set<unsigned>& kernels_;
  std::map<const FunctionDecl*, std::vector<Call>> calls_;
  std::map<const FunctionDecl*, State> states_;
};

}  // namespace

void check_restrictions(const UserCode& code, const std::set<unsigned>& kernels) {
  for (const clang::VarDecl* variable : code.globals) check_variable(*variable);
  CallChecker(kernels).run(code);
}

}  // namespace mlxn::msl
