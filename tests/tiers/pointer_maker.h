// Random uses of pointers, of classes in threadgroup memory and of function constants.
#pragma once

#include "tests/tiers/expression_maker.h"

namespace mlxn::tiers {

class PointerMaker {
 public:
  PointerMaker(Random& random, Scope& scope, ExpressionMaker& maker)
      : random_(random), scope_(scope), maker_(maker) {}

  // A statement on the thread's own variables, on buffers, or with function constants.
  std::string statement();
  // One on the shared ints and cells: the thread's own ones, or any if nobody writes.
  std::string shared(bool own);

 private:
  std::string choice(const std::string& a, const std::string& b);
  std::string whole() { return maker_.make(Type::kInt, 1); }
  std::string index() { return maker_.make(Type::kUint, 1); }
  const std::string& variable() { return random_.pick(scope_.of(Type::kInt)); }
  // One that is overloaded for the address spaces of its first argument.
  const char* function() { return random_.pick({"pick(", "mark("}); }
  std::string on_private();
  std::string on_buffers();
  std::string on_constants();

  Random& random_;
  Scope& scope_;
  ExpressionMaker& maker_;
};

}  // namespace mlxn::tiers
