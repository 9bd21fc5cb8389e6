#include "metal/msl/frontend/address_space_check.h"

#include "mlxn/base/strings.h"

namespace mlxn::msl {

using clang::Expr;
using llvm::dyn_cast;

namespace {

class Checker {
 public:
  explicit Checker(SpaceFinder& finder) : finder_(finder) {}

  void run(const UserCode& code) {
    for (const clang::FunctionDecl* function : code.functions) {
      function_ = function;
      finder_.enter(function);
      if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(function))
        for (const clang::CXXCtorInitializer* member : constructor->inits())
          if (member->isMemberInitializer() && member->isWritten())
            check(finder_.declared(member->getMember()), member->getMember()->getType(),
                  member->getInit());
      for_each_statement(*function, [&](const clang::Stmt& statement) { visit(statement); });
    }
  }

 private:
  void visit(const clang::Stmt& statement) {
    if (const auto* declarations = dyn_cast<clang::DeclStmt>(&statement)) {
      for (const clang::Decl* declaration : declarations->decls())
        if (const auto* variable = dyn_cast<clang::VarDecl>(declaration))
          check(finder_.declared(variable), variable->getType(), variable->getInit());
    } else if (const auto* binary = dyn_cast<clang::BinaryOperator>(&statement)) {
      if (binary->getOpcode() == clang::BO_Assign) check_assignment(*binary);
    } else if (const auto* result = dyn_cast<clang::ReturnStmt>(&statement)) {
      if (result->getRetValue() && !finder_.overload(function_))
        check(finder_.of_result(function_), function_->getReturnType(), result->getRetValue());
    } else if (const auto* cast = dyn_cast<clang::ExplicitCastExpr>(&statement)) {
      if (cast->getType()->isPointerType() && cast->getSubExpr()->getType()->isPointerType())
        check(finder_.of_type(cast->getTypeInfoAsWritten()), cast->getType(), cast->getSubExpr());
    } else if (const auto* choice = dyn_cast<clang::ConditionalOperator>(&statement)) {
      if (choice->getType()->isPointerType())
        check(finder_.of_pointer(choice->getTrueExpr()), choice->getType(), choice->getFalseExpr());
    } else if (const auto* call = dyn_cast<clang::CallExpr>(&statement)) {
      if (const clang::TypeSourceInfo* target = target_of_static_cast(call))
        check(finder_.of_type(target), target->getType(), call->getArg(0));
      else if (call->getDirectCallee())
        check_arguments(call->getDirectCallee(), arguments_of_call(call));
    } else if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&statement)) {
      check_arguments(construction->getConstructor(),
                      {construction->getArgs(), construction->getNumArgs()});
    } else if (const auto* list = dyn_cast<clang::InitListExpr>(&statement)) {
      check_members(*list);
    }
  }

  void check_assignment(const clang::BinaryOperator& assignment) {
    if (!assignment.getType()->isPointerType()) return;
    const Expr* target = assignment.getLHS()->IgnoreParens();
    const clang::ValueDecl* declaration = nullptr;
    if (const auto* reference = dyn_cast<clang::DeclRefExpr>(target))
      declaration = reference->getDecl();
    else if (const auto* member = dyn_cast<clang::MemberExpr>(target))
      declaration = member->getMemberDecl();
    const auto* variable = llvm::dyn_cast_or_null<clang::DeclaratorDecl>(declaration);
    if (variable && variable->getType()->isPointerType())
      check(finder_.declared(variable), variable->getType(), assignment.getRHS());
  }

  // Overloads that have become one take the spaces of all of them.
  void check_arguments(const clang::FunctionDecl* callee, llvm::ArrayRef<const Expr*> arguments) {
    if (finder_.overload(callee)) return;
    for (size_t i = 0; i < arguments.size() && i < callee->getNumParams(); ++i) {
      const clang::ParmVarDecl* parameter = callee->getParamDecl(unsigned(i));
      check(finder_.declared(parameter), parameter->getType(), arguments[i]);
    }
  }

  void check_members(const clang::InitListExpr& list) {
    const clang::RecordDecl* record = list.getType()->getAsRecordDecl();
    if (!record || record->isUnion() || !list.isSemanticForm()) return;
    unsigned i = 0;
    if (const auto* cxx = dyn_cast<clang::CXXRecordDecl>(record)) i = cxx->getNumBases();
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (i >= list.getNumInits()) return;
      check(finder_.declared(field), field->getType(), list.getInit(i++));
    }
  }

  // `value` becomes a pointer or reference to `expected`.
  void check(Space expected, clang::QualType type, const Expr* value) {
    bool reference = type->isLValueReferenceType();
    if (!value || expected == Space::kUnknown || !(reference || type->isPointerType())) return;
    Space actual = finder_.of_argument(type, value);
    if (actual == Space::kUnknown || actual == expected) return;
    // C++ copies what a reference to const cannot refer to, and the copy is the thread's own.
    if (reference && type->getPointeeType().isConstQualified() && expected == Space::kThread)
      return;
    report_error(
        *function_, value->getExprLoc(),
        str(reference ? "object in '" : "pointer to '", name_of(actual), "' memory where one ",
            reference ? "in" : "to", " '", name_of(expected), "' memory is expected"));
  }

  SpaceFinder& finder_;
  const clang::FunctionDecl* function_ = nullptr;
};

}  // namespace

void check_address_spaces(const UserCode& code, SpaceFinder& finder) {
  Checker(finder).run(code);
}

}  // namespace mlxn::msl
