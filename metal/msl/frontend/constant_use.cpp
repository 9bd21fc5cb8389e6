#include "metal/msl/frontend/constant_use.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

namespace mlxn::msl {

namespace {

class Finder : public clang::RecursiveASTVisitor<Finder> {
 public:
  explicit Finder(const std::map<std::string, bool>& constants) : constants_(constants) {}

  std::set<std::string> run(const clang::FunctionDecl& kernel) {
    enter(&kernel);
    while (!todo_.empty()) {
      const clang::FunctionDecl* function = todo_.back();
      todo_.pop_back();
      for (const clang::ParmVarDecl* parameter : function->parameters())
        for (const auto* attribute : parameter->specific_attrs<clang::AnnotateAttr>())
          for (clang::Expr* argument : attribute->args()) TraverseStmt(argument);
      const clang::FunctionDecl* definition = nullptr;
      if (function->hasBody(definition)) TraverseStmt(definition->getBody());
    }
    return std::move(found_);
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr* reference) {
    enter(reference->getDecl());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) {
    enter(member->getMemberDecl());
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* candidates) {
    for (const clang::NamedDecl* candidate : candidates->decls()) {
      if (const auto* function = llvm::dyn_cast<clang::FunctionTemplateDecl>(candidate))
        enter(function->getTemplatedDecl());
      else if (const auto* value = llvm::dyn_cast<clang::ValueDecl>(candidate))
        enter(value);
    }
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) {
    enter(construction->getConstructor());
    return true;
  }

 private:
  // Our own headers refer to no constant, so they are not followed.
  void enter(const clang::ValueDecl* declaration) {
    if (!seen_.insert(declaration).second) return;
    const clang::SourceManager& sources = declaration->getASTContext().getSourceManager();
    if (sources.isInSystemHeader(sources.getExpansionLoc(declaration->getLocation()))) return;
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration)) {
      todo_.push_back(function);
      if (const auto* pattern = function->getTemplateInstantiationPattern()) enter(pattern);
    } else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declaration)) {
      if (variable->getDeclName().isIdentifier() && constants_.count(variable->getName().str()) &&
          variable->hasGlobalStorage())
        found_.insert(variable->getName().str());
      else if (const clang::Expr* value = variable->getAnyInitializer())
        TraverseStmt(const_cast<clang::Expr*>(value));  // a constant derived from others
    }
  }

  const std::map<std::string, bool>& constants_;
  std::set<const clang::ValueDecl*> seen_;
  std::vector<const clang::FunctionDecl*> todo_;
  std::set<std::string> found_;
};

}  // namespace

std::set<std::string> constants_used_by(const clang::FunctionDecl& kernel,
                                        const std::map<std::string, bool>& constants) {
  if (constants.empty()) return {};
  return Finder(constants).run(kernel);
}

}  // namespace mlxn::msl
