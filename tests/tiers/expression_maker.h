// Random MSL expressions over the variables a program may see, with a chosen type and a chosen
// uniformity of the value.
#pragma once

#include <string>
#include <vector>

#include "mlxn/base/strings.h"
#include "tests/tiers/random.h"

namespace mlxn::tiers {

// Joins its parts. Written with braces, which evaluate from left to right with every compiler: a
// seed must give one program.
struct Text : std::string {
  template <class... Parts>
  Text(const Parts&... parts) : std::string(str(parts...)) {}
};

enum class Type { kInt, kUint, kFloat, kHalf, kLong, kFloat2, kFloat4 };

// Over which threads a value, or the decision to come along, is the same.
enum class Level { kGroup = 0, kSimd = 1, kLane = 2 };

// What expressions may name.
struct Scope {
  std::vector<std::string> variables[7];  // by Type, divergent
  std::vector<std::string> uniform[3];    // ints never assigned to, by the Level that shares them
  bool kernel = false;                    // ids, parameters and inputs are in sight
  bool cross_lane = true;                 // simdgroup operations are allowed
  bool wide = false;                      // see GeneratorOptions
  std::string helper;                     // function to call; empty: none
  const std::vector<std::string>& of(Type type) const { return variables[static_cast<int>(type)]; }
};

class ExpressionMaker {
 public:
  ExpressionMaker(Random& random, Scope& scope) : random_(random), scope_(scope) {}

  std::string make(Type type, int depth = 2);
  // An int that is the same for all threads of `level`.
  std::string uniform(Level level, int depth = 1);
  // A place in an array of `count`; in wide programs a known one.
  std::string index(uint32_t count);
  // A truth value that is the same for all threads of `level`. kSimd may use simdgroup operations,
  // so the place must be reached by whole simdgroups.
  std::string condition(Level level);
  // A whole number 0 … 3, the same for all threads of `level`.
  std::string trip_count(Level level);

  // At most so many operations and calls in one program: both cost time when it runs.
  void set_budget(int operations, int calls) { operations_ = operations, calls_ = calls; }

 private:
  std::string leaf(Type type);
  std::string input(const char* buffer);
  std::string integer(Type type, int depth);
  std::string floating(Type type, int depth);
  std::string vector(Type type, int depth);
  std::string operation(Type type, int depth);
  std::string vote();
  bool may_operate(int depth);

  Random& random_;
  Scope& scope_;
  int operations_ = 24, calls_ = 2;
};

const char* name_of(Type type);

}  // namespace mlxn::tiers
