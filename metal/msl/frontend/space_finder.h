// Address spaces of expressions, from what the source writes in declarations and casts.
#pragma once

#include <optional>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/TypeLoc.h"
#include "clang/Basic/SourceManager.h"
#include "metal/msl/frontend/address_space.h"
#include "metal/msl/frontend/overloads.h"

namespace mlxn::msl {

// Answers kUnknown wherever it is not sure, for example where a template argument carries the
// space.
class SpaceFinder {
 public:
  SpaceFinder(const clang::SourceManager& sources, const PointerSpaces& pointers,
              const OverloadSets& overloads)
      : sources_(sources), pointers_(pointers), overloads_(overloads) {}

  // Expressions from now on belong to the body of `function`.
  void enter(const clang::FunctionDecl* function) { function_ = function; }

  Space of_pointer(const clang::Expr* expression);  // what a pointer points to
  Space of_object(const clang::Expr* expression);   // where an object lies
  // The space a pointer or reference of this type needs; by its own kind.
  Space of_argument(clang::QualType type, const clang::Expr* expression) {
    return type->isReferenceType() ? of_object(expression) : of_pointer(expression);
  }

  // What a variable, parameter or member that is a pointer or reference refers to.
  Space declared(const clang::DeclaratorDecl* declaration);
  Space of_result(const clang::FunctionDecl* function);
  // As written, for example in a cast.
  Space of_type(const clang::TypeSourceInfo* type) {
    return type ? of_type(type->getTypeLoc(), /*thread_by_default=*/false) : Space::kUnknown;
  }

  // Where a function stands among overloads that differ only in address space, or null.
  const OverloadSets::Member* overload(const clang::FunctionDecl* function) const;
  // The variant of the set that a call with these arguments selects; none if that is not certain.
  std::optional<size_t> choose(const OverloadSet& set, const clang::FunctionDecl* callee,
                               const clang::Expr* object,
                               llvm::ArrayRef<const clang::Expr*> arguments);
  const OverloadSets& overloads() const { return overloads_; }

 private:
  Space of_type(clang::TypeLoc type, bool thread_by_default);
  Space of_mark(clang::SourceLocation mark, clang::TypeLoc pointee, bool thread_by_default) const;
  Space of_storage(const clang::VarDecl* variable) const;
  Space of_variable_value(const clang::Expr* expression);
  Space of_cast(const clang::CastExpr* cast);
  Space of_call(const clang::CallExpr* call);
  Space of_implicit_object(const clang::Expr* object);
  bool is_user_location(clang::SourceLocation location) const {
    return !sources_.isInSystemHeader(sources_.getExpansionLoc(location));
  }

  const clang::SourceManager& sources_;
  const PointerSpaces& pointers_;
  const OverloadSets& overloads_;
  const clang::FunctionDecl* function_ = nullptr;
  int depth_ = 0;
};

// The type that static_cast, which is a function of our own headers, converts to; null for other
// calls.
const clang::TypeSourceInfo* target_of_static_cast(const clang::CallExpr* call);

// The object a member function is called on, or null.
const clang::Expr* object_of_call(const clang::CallExpr* call);
// The arguments that stand for the callee's parameters.
llvm::ArrayRef<const clang::Expr*> arguments_of_call(const clang::CallExpr* call);

}  // namespace mlxn::msl
