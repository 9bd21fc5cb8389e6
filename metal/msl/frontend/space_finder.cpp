#include "metal/msl/frontend/space_finder.h"

#include "clang/AST/Attr.h"

namespace mlxn::msl {

using clang::Expr;
using llvm::dyn_cast;
using llvm::isa;

namespace {

// How deep an expression is looked into; what lies deeper is of unknown space.
class Nesting {
 public:
  explicit Nesting(int& depth) : depth_(++depth) {}
  ~Nesting() { --depth_; }
  bool too_deep() const { return depth_ > kDeepest; }

 private:
  static constexpr int kDeepest = 64;
  int& depth_;
};

// A type that cannot hide an address space: typedefs and template arguments may.
bool is_plain(clang::TypeLoc type, const clang::SourceManager& sources) {
  type = type.getUnqualifiedLoc();
  if (auto elaborated = type.getAs<clang::ElaboratedTypeLoc>())
    return is_plain(elaborated.getNamedTypeLoc(), sources);
  if (auto name = type.getAs<clang::TypedefTypeLoc>())
    return sources.isInSystemHeader(
        sources.getExpansionLoc(name.getTypedefNameDecl()->getLocation()));
  return type.getAs<clang::BuiltinTypeLoc>() || type.getAs<clang::RecordTypeLoc>();
}

Space merged(Space a, Space b) {
  return a == b ? a : Space::kUnknown;
}

}  // namespace

const Expr* object_of_call(const clang::CallExpr* call) {
  if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(call))
    return member->getImplicitObjectArgument();
  if (isa<clang::CXXOperatorCallExpr>(call) &&
      isa_and_nonnull<clang::CXXMethodDecl>(call->getDirectCallee()))
    return call->getArg(0);
  return nullptr;
}

const clang::TypeSourceInfo* target_of_static_cast(const clang::CallExpr* call) {
  const auto* callee = dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
  if (!callee || callee->getNumTemplateArgs() != 1 || call->getNumArgs() != 1 ||
      callee->getNameInfo().getAsString() != "__msl_static_cast")
    return nullptr;
  const clang::TemplateArgumentLoc& target = callee->getTemplateArgs()[0];
  return target.getArgument().getKind() == clang::TemplateArgument::Type
             ? target.getTypeSourceInfo()
             : nullptr;
}

llvm::ArrayRef<const Expr*> arguments_of_call(const clang::CallExpr* call) {
  llvm::ArrayRef<const Expr*> arguments(call->getArgs(), call->getNumArgs());
  bool object_first = isa<clang::CXXOperatorCallExpr>(call) && object_of_call(call);
  return object_first ? arguments.drop_front() : arguments;
}

Space SpaceFinder::of_mark(clang::SourceLocation mark, clang::TypeLoc pointee,
                           bool thread_by_default) const {
  Space written = pointers_.at(mark);
  if (written != Space::kUnknown || !thread_by_default) return written;
  return is_user_location(mark) && is_plain(pointee, sources_) ? Space::kThread : Space::kUnknown;
}

Space SpaceFinder::of_type(clang::TypeLoc type, bool thread_by_default) {
  type = type.IgnoreParens().getUnqualifiedLoc();
  if (auto pointer = type.getAs<clang::PointerTypeLoc>())
    return of_mark(pointer.getStarLoc(), pointer.getPointeeLoc(), thread_by_default);
  if (auto reference = type.getAs<clang::LValueReferenceTypeLoc>())
    return of_mark(reference.getAmpLoc(), reference.getPointeeLoc(), thread_by_default);
  if (auto elaborated = type.getAs<clang::ElaboratedTypeLoc>())
    return of_type(elaborated.getNamedTypeLoc(), false);
  if (auto name = type.getAs<clang::TypedefTypeLoc>())
    return of_type(name.getTypedefNameDecl()->getTypeSourceInfo());
  return Space::kUnknown;
}

Space SpaceFinder::declared(const clang::DeclaratorDecl* declaration) {
  const auto* variable = dyn_cast<clang::VarDecl>(declaration);
  if (!declaration->getTypeSourceInfo()) return Space::kUnknown;
  clang::TypeLoc type = declaration->getTypeSourceInfo()->getTypeLoc();
  bool local = variable && (variable->isLocalVarDeclOrParm());
  Space written = of_type(type, local);
  if (written != Space::kUnknown || !variable || variable->isCXXForRangeDecl() ||
      !variable->getInit() || !type.getContainedAutoTypeLoc())
    return written;
  return of_argument(variable->getType(), variable->getInit());
}

Space SpaceFinder::of_result(const clang::FunctionDecl* function) {
  clang::FunctionTypeLoc type = function->getFunctionTypeLoc();
  return type ? of_type(type.getReturnLoc(), false) : Space::kUnknown;
}

Space SpaceFinder::of_storage(const clang::VarDecl* variable) const {
  if (!is_user_location(variable->getLocation())) return Space::kUnknown;
  clang::QualType element = variable->getASTContext().getBaseElementType(variable->getType());
  for (const auto* attribute : variable->specific_attrs<clang::AnnotateAttr>())
    if (attribute->getAnnotation() == "msl.threadgroup_storage" && !element->isPointerType())
      return Space::kThreadgroup;
  if (variable->hasLocalStorage()) return Space::kThread;
  return variable->isFileVarDecl() && !variable->isStaticDataMember() && element.isConstQualified()
             ? Space::kConstant
             : Space::kUnknown;
}

Space SpaceFinder::of_object(const Expr* expression) {
  const Nesting nesting(depth_);
  if (!expression || nesting.too_deep()) return Space::kUnknown;
  expression = expression->IgnoreParens();
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(expression))
    return of_object(cleanups->getSubExpr());
  if (isa<clang::MaterializeTemporaryExpr>(expression)) return Space::kThread;
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    if (!variable) return Space::kUnknown;
    return variable->getType()->isReferenceType() ? declared(variable) : of_storage(variable);
  }
  if (const auto* index = dyn_cast<clang::ArraySubscriptExpr>(expression))
    return index->getBase()->getType()->isPointerType() ? of_pointer(index->getBase())
                                                        : Space::kUnknown;
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (!field) return Space::kUnknown;
    if (field->getType()->isReferenceType()) return declared(field);
    return member->isArrow() ? of_pointer(member->getBase()) : of_object(member->getBase());
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) {
    if (unary->getOpcode() == clang::UO_Deref) return of_pointer(unary->getSubExpr());
    return unary->isIncrementDecrementOp() ? of_object(unary->getSubExpr()) : Space::kUnknown;
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression))
    return merged(of_object(choice->getTrueExpr()), of_object(choice->getFalseExpr()));
  if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return of_call(call);
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression)) {
    if (const auto* written = dyn_cast<clang::ExplicitCastExpr>(cast))
      return of_type(written->getTypeInfoAsWritten());
    bool same = cast->getCastKind() == clang::CK_NoOp ||
                cast->getCastKind() == clang::CK_DerivedToBase ||
                cast->getCastKind() == clang::CK_UncheckedDerivedToBase;
    return same ? of_object(cast->getSubExpr()) : Space::kUnknown;
  }
  return Space::kUnknown;
}

// The pointer that is kept in a variable.
Space SpaceFinder::of_variable_value(const Expr* expression) {
  expression = expression->IgnoreParens();
  if (const auto* reference = dyn_cast<clang::DeclRefExpr>(expression)) {
    const auto* variable = dyn_cast<clang::VarDecl>(reference->getDecl());
    // A reference to a pointer has two spaces.
    return variable && variable->getType()->isPointerType() ? declared(variable) : Space::kUnknown;
  }
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) {
    const auto* field = dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    return field && field->getType()->isPointerType() ? declared(field) : Space::kUnknown;
  }
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression))
    return unary->isIncrementDecrementOp() ? of_variable_value(unary->getSubExpr())
                                           : Space::kUnknown;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(expression))
    return binary->isAssignmentOp() ? of_variable_value(binary->getLHS()) : Space::kUnknown;
  return Space::kUnknown;
}

Space SpaceFinder::of_cast(const clang::CastExpr* cast) {
  if (const auto* written = dyn_cast<clang::ExplicitCastExpr>(cast))
    return of_type(written->getTypeInfoAsWritten());
  switch (cast->getCastKind()) {
    case clang::CK_LValueToRValue: return of_variable_value(cast->getSubExpr());
    case clang::CK_ArrayToPointerDecay: return of_object(cast->getSubExpr());
    case clang::CK_NoOp:
    case clang::CK_BitCast:
    case clang::CK_DerivedToBase:
    case clang::CK_UncheckedDerivedToBase: return of_pointer(cast->getSubExpr());
    default: return Space::kUnknown;
  }
}

Space SpaceFinder::of_pointer(const Expr* expression) {
  const Nesting nesting(depth_);
  if (!expression || nesting.too_deep()) return Space::kUnknown;
  expression = expression->IgnoreParens();
  // What static_cast is given has not been read or decayed yet.
  if (expression->getType()->isArrayType()) return of_object(expression);
  if (expression->isLValue()) return of_variable_value(expression);
  if (const auto* cleanups = dyn_cast<clang::ExprWithCleanups>(expression))
    return of_pointer(cleanups->getSubExpr());
  if (const auto* temporary = dyn_cast<clang::MaterializeTemporaryExpr>(expression))
    return of_pointer(temporary->getSubExpr());
  if (isa<clang::CXXThisExpr>(expression)) return of_implicit_object(expression);
  if (const auto* cast = dyn_cast<clang::CastExpr>(expression)) return of_cast(cast);
  if (const auto* unary = dyn_cast<clang::UnaryOperator>(expression)) {
    if (unary->getOpcode() == clang::UO_AddrOf) return of_object(unary->getSubExpr());
    return unary->isPostfix() ? of_variable_value(unary->getSubExpr()) : Space::kUnknown;
  }
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(expression)) {
    if (!binary->isAdditiveOp()) return Space::kUnknown;
    bool left = binary->getLHS()->getType()->isPointerType();
    return of_pointer(left ? binary->getLHS() : binary->getRHS());
  }
  if (const auto* choice = dyn_cast<clang::ConditionalOperator>(expression))
    return merged(of_pointer(choice->getTrueExpr()), of_pointer(choice->getFalseExpr()));
  if (const auto* call = dyn_cast<clang::CallExpr>(expression)) return of_call(call);
  return Space::kUnknown;
}

// `this`, in a member function that says where its object lies.
Space SpaceFinder::of_implicit_object(const Expr*) {
  const OverloadSets::Member* member = function_ ? overload(function_) : nullptr;
  return member ? overloads_[member->set].variants[member->variant].object : Space::kUnknown;
}

Space SpaceFinder::of_call(const clang::CallExpr* call) {
  if (const clang::TypeSourceInfo* target = target_of_static_cast(call)) return of_type(target);
  const clang::FunctionDecl* callee = call->getDirectCallee();
  if (!callee) return Space::kUnknown;
  const OverloadSets::Member* member = overload(callee);
  if (!member) return of_result(callee);
  const OverloadSet& set = overloads_[member->set];
  std::optional<size_t> variant =
      choose(set, callee, object_of_call(call), arguments_of_call(call));
  if (!variant) return Space::kUnknown;
  Space result = set.variants[*variant].result;
  return result == Space::kThread && of_result(callee) == Space::kUnknown ? Space::kUnknown
                                                                          : result;
}

const OverloadSets::Member* SpaceFinder::overload(const clang::FunctionDecl* function) const {
  for (const clang::FunctionDecl* declaration : function->redecls())
    if (const auto* found = overloads_.find(declaration->getLocation())) return found;
  const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern();
  return pattern && pattern != function ? overload(pattern) : nullptr;
}

std::optional<size_t> SpaceFinder::choose(const OverloadSet& set, const clang::FunctionDecl* callee,
                                          const Expr* object,
                                          llvm::ArrayRef<const Expr*> arguments) {
  std::vector<bool> possible(set.variants.size(), true);
  const Variant& first = set.variants[0];
  // Takes `given` into account if the variants differ in it; false if it is not known.
  auto consider = [&](auto space_of, auto given) {
    bool differs = false;
    for (const Variant& variant : set.variants) differs |= space_of(variant) != space_of(first);
    if (!differs) return true;
    Space space = given();
    for (size_t i = 0; i < set.variants.size(); ++i)
      if (space_of(set.variants[i]) != space) possible[i] = false;
    return space != Space::kUnknown;
  };
  bool known =
      consider([](const Variant& variant) { return variant.object; },
               [&] {
                 if (!object) return Space::kThread;  // a constructor's
                 return object->getType()->isPointerType() ? of_pointer(object) : of_object(object);
               });
  for (size_t i = 0; known && i < first.parameters.size(); ++i) {
    if (i >= arguments.size() || i >= callee->getNumParams()) return std::nullopt;
    known = consider([i](const Variant& variant) { return variant.parameters[i]; },
                     [&] { return of_argument(callee->getParamDecl(i)->getType(), arguments[i]); });
  }
  if (!known) return std::nullopt;
  for (size_t i = 0; i < possible.size(); ++i)
    if (possible[i]) return i;
  return std::nullopt;
}

}  // namespace mlxn::msl
