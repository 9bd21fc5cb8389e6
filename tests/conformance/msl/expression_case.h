// Cases that are one expression, evaluated for 64 inputs. All expressions of a table share one
// kernel: the compiler's start-up would otherwise dominate.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/msl/gpu.h"
#include "tests/conformance/msl/numbers.h"

namespace msl_test {

inline constexpr int kInputs = 64;

// Which numbers a, b and c are.
enum class Domain {
  kReal,      // all sizes and signs, with zeros, infinities, NaN and denormals
  kModerate,  // within +-40
  kUnit,      // within +-1, ends included
  kPositive,  // from 2^-20 to 2^20
  kIntegers,  // whole numbers and halves
};

// What an expression may name: floats a b c, ints i j k, uints u v w; on the host the same.
struct In {
  float a, b, c;
  int32_t i, j, k;
  uint32_t u, v, w;
};
In input(Domain domain, int index);

struct ExpressionCase {
  const char* name;
  const char* msl;                        // an expression of type `type`
  std::function<double(const In&)> host;  // its exact value; integers fit in double
  double ulp = 0;                         // 0: equal after rounding to the type
  Type type = Type::kFloat;
  Domain domain = Domain::kModerate;
};
inline void PrintTo(const ExpressionCase& c, std::ostream* out) {
  *out << c.name << ": " << c.msl;
}

// A table with the text it needs; computed on first use.
class ExpressionTable {
 public:
  ExpressionTable(std::vector<ExpressionCase> cases, std::string declarations = "",
                  Options options = {})
      : cases_(std::move(cases)),
        declarations_(std::move(declarations)),
        options_(std::move(options)) {}
  const std::vector<ExpressionCase>& cases() const { return cases_; }
  void check(const ExpressionCase& c);

 private:
  void compute();
  std::string source() const;

  std::vector<ExpressionCase> cases_;
  std::string declarations_;
  Options options_;
  bool computed_ = false;
  std::string error_;
  std::vector<uint32_t> results_;
};

struct CaseName {
  template <class P>
  std::string operator()(const testing::TestParamInfo<P>& info) const {
    return info.param.name;
  }
};

// Defines a suite from a function that returns the table.
#define MSL_EXPRESSIONS(Suite, table)                                       \
  class Suite : public testing::TestWithParam<msl_test::ExpressionCase> {}; \
  TEST_P(Suite, Check) {                                                    \
    table().check(GetParam());                                              \
  }                                                                         \
  INSTANTIATE_TEST_SUITE_P(Msl, Suite, testing::ValuesIn(table().cases()), msl_test::CaseName())

}  // namespace msl_test
