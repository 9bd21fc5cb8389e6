#include "metal/msl/frontend/threadgroup_variables.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Frontend/MultiplexConsumer.h"

namespace mlxn::msl {

namespace {

bool is_threadgroup_storage(const clang::VarDecl& variable) {
  for (const auto* attribute : variable.specific_attrs<clang::AnnotateAttr>())
    if (attribute->getAnnotation() == "msl.threadgroup_storage") return true;
  return false;
}

// A construction the source does not write: `C c;`, not `C c(1)` or `C c{}`.
bool is_unwritten(const clang::Expr& initialiser) {
  const auto* construction =
      llvm::dyn_cast<clang::CXXConstructExpr>(initialiser.IgnoreImplicit()->IgnoreParens());
  return construction && construction->getParenOrBraceRange().isInvalid() &&
         construction->getConstructor()->isDefaultConstructor();
}

class Stripper : public clang::RecursiveASTVisitor<Stripper> {
 public:
  bool VisitVarDecl(clang::VarDecl* variable) {
    if (is_threadgroup_storage(*variable) && variable->getInit() &&
        is_unwritten(*variable->getInit()))
      variable->setInit(nullptr);
    return true;
  }
};

class Consumer : public clang::ASTConsumer {
 public:
  // Comes for each declaration of the source and each instantiated function, before code is made.
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* declaration : group) Stripper().TraverseDecl(declaration);
    return true;
  }
};

}  // namespace

std::unique_ptr<clang::ASTConsumer> without_threadgroup_construction(
    std::unique_ptr<clang::ASTConsumer> next) {
  std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
  consumers.push_back(std::make_unique<Consumer>());
  consumers.push_back(std::move(next));
  return std::make_unique<clang::MultiplexConsumer>(std::move(consumers));
}

}  // namespace mlxn::msl
