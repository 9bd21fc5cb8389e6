#include "metal/msl/frontend/overload_choice.h"

#include "mlxn/base/strings.h"

namespace mlxn::msl {

using llvm::dyn_cast;

namespace {

class Chooser {
 public:
  explicit Chooser(SpaceFinder& finder) : finder_(finder) {}

  OverloadChoices run(const UserCode& code) {
    for (const clang::FunctionDecl* function : code.functions) {
      function_ = function;
      finder_.enter(function);
      for_each_statement(*function, [&](const clang::Stmt& statement) {
        if (const auto* call = dyn_cast<clang::CallExpr>(&statement))
          visit_call(*call);
        else if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(&statement))
          visit_construction(*construction);
      });
    }
    return std::move(choices_);
  }

 private:
  void visit_call(const clang::CallExpr& call) {
    const clang::FunctionDecl* callee = call.getDirectCallee();
    if (!callee) return;
    const clang::Expr* name = call.getCallee()->IgnoreParenImpCasts();
    clang::SourceLocation place = name->getExprLoc();
    if (const auto* member = dyn_cast<clang::MemberExpr>(name)) place = member->getMemberLoc();
    decide(callee, object_of_call(&call), arguments_of_call(&call), place, place, choices_.calls);
  }

  void visit_construction(const clang::CXXConstructExpr& construction) {
    llvm::ArrayRef<const clang::Expr*> arguments(construction.getArgs(), construction.getNumArgs());
    decide(construction.getConstructor(), nullptr, arguments,
           construction.getParenOrBraceRange().getEnd(), construction.getExprLoc(),
           choices_.constructions);
  }

  void decide(const clang::FunctionDecl* callee, const clang::Expr* object,
              llvm::ArrayRef<const clang::Expr*> arguments, clang::SourceLocation key,
              clang::SourceLocation place, std::map<unsigned, unsigned>& choices) {
    const OverloadSets::Member* member = finder_.overload(callee);
    if (!member || !finder_.overloads()[member->set].distinct) return;
    std::optional<size_t> variant =
        finder_.choose(finder_.overloads()[member->set], callee, object, arguments);
    if (!variant)
      return report_error(*function_, place,
                          str("no overload of '", callee->getNameAsString(),
                              "' is certain to fit the address space of these arguments"));
    if (key.isInvalid() && *variant != member->variant)
      return report_error(*function_, place,
                          str("constructors of '", callee->getNameAsString(),
                              "' that differ only in address space must be called with "
                              "parentheses"));
    auto [choice, fresh] = choices.try_emplace(key.getRawEncoding(), unsigned(*variant));
    if (!fresh && choice->second != *variant)
      report_error(*function_, place,
                   str("this call of '", callee->getNameAsString(),
                       "' means overloads of different address spaces in two instantiations"));
  }

  SpaceFinder& finder_;
  const clang::FunctionDecl* function_ = nullptr;
  OverloadChoices choices_;
};

}  // namespace

OverloadChoices choose_overloads(const UserCode& code, SpaceFinder& finder) {
  return Chooser(finder).run(code);
}

}  // namespace mlxn::msl
