#include "metal/msl/frontend/user_code.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"

namespace mlxn::msl {

using llvm::dyn_cast;

namespace {

class Collector {
 public:
  UserCode run(const std::vector<clang::Decl*>& declarations) {
    for (const clang::Decl* declaration : declarations) add(declaration);
    return std::move(code_);
  }

 private:
  void add(const clang::Decl* declaration) {
    const clang::SourceManager& sources = declaration->getASTContext().getSourceManager();
    if (declaration->isInvalidDecl() ||
        sources.isInSystemHeader(sources.getExpansionLoc(declaration->getLocation())))
      return;
    if (const auto* function = dyn_cast<clang::FunctionDecl>(declaration)) {
      add_function(function);
    } else if (const auto* variable = dyn_cast<clang::VarDecl>(declaration)) {
      if (!variable->getDeclContext()->isDependentContext()) code_.globals.push_back(variable);
    } else if (const auto* functions = dyn_cast<clang::FunctionTemplateDecl>(declaration)) {
      for (const clang::FunctionDecl* instance : functions->specializations())
        add_function(instance);
    } else if (const auto* classes = dyn_cast<clang::ClassTemplateDecl>(declaration)) {
      for (const auto* instance : classes->specializations()) add_members(instance);
    } else if (const auto* record = dyn_cast<clang::CXXRecordDecl>(declaration)) {
      if (!record->isDependentContext()) add_members(record);
    } else if (const auto* scope = dyn_cast<clang::NamespaceDecl>(declaration)) {
      for (const clang::Decl* inner : scope->decls()) add(inner);
    } else if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(declaration)) {
      for (const clang::Decl* inner : linkage->decls()) add(inner);
    }
  }

  void add_function(const clang::FunctionDecl* function) {
    if (function->doesThisDeclarationHaveABody() && !function->isDependentContext())
      code_.functions.push_back(function);
  }

  void add_members(const clang::CXXRecordDecl* record) {
    for (const clang::Decl* member : record->decls()) add(member);
  }

  UserCode code_;
};

void walk(const clang::Stmt* statement, const std::function<void(const clang::Stmt&)>& visit) {
  if (!statement) return;
  visit(*statement);
  for (const clang::Stmt* child : statement->children()) walk(child, visit);
}

}  // namespace

UserCode collect_user_code(const std::vector<clang::Decl*>& declarations) {
  return Collector().run(declarations);
}

void for_each_statement(const clang::FunctionDecl& function,
                        const std::function<void(const clang::Stmt&)>& visit) {
  if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&function))
    for (const clang::CXXCtorInitializer* member : constructor->inits())
      walk(member->getInit(), visit);
  walk(function.getBody(), visit);
}

void report_error(const clang::Decl& in, clang::SourceLocation where, const std::string& message) {
  auto& diagnostics = in.getASTContext().getDiagnostics();
  diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "%0"))
      << message;
}

}  // namespace mlxn::msl
