// Cases that are a whole kernel. All kernels of a table are one library; each has its own launch.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/conformance/msl/expression_case.h"
#include "tests/conformance/msl/gpu.h"
#include "tests/conformance/msl/numbers.h"

namespace msl_test {

// Every kernel writes buffer 0 and may read two inputs of 4096 elements: floats in buffer 1, uints
// in buffer 2. Buffer 3 holds 256 zero words for atomics and the like.
float float_input(size_t index);
uint32_t uint_input(size_t index);

struct KernelCase {
  const char* name;  // also the entry point, unless `entry` is set
  const char* msl;
  size_t words = 64;                       // size of the result
  std::function<double(size_t)> expected;  // of result i; NaN when it does not matter
  Launch launch = {};
  Type type = Type::kUint;
  double ulp = 0;
  const char* entry = nullptr;
  size_t result_buffer = 0;  // 3: check buffer 3 instead
};
inline void PrintTo(const KernelCase& c, std::ostream* out) {
  *out << c.name;
}

class KernelTable {
 public:
  KernelTable(std::vector<KernelCase> cases, std::string declarations = "", Options options = {})
      : cases_(std::move(cases)),
        declarations_(std::move(declarations)),
        options_(std::move(options)) {}
  const std::vector<KernelCase>& cases() const { return cases_; }
  void check(const KernelCase& c);

 private:
  std::vector<KernelCase> cases_;
  std::string declarations_;
  Options options_;
  bool compiled_ = false;
  Library library_;
};

// Result words nobody should look at.
inline constexpr double kAny = std::numeric_limits<double>::signaling_NaN();

#define MSL_KERNELS(Suite, table)                                       \
  class Suite : public testing::TestWithParam<msl_test::KernelCase> {}; \
  TEST_P(Suite, Check) {                                                \
    table().check(GetParam());                                          \
  }                                                                     \
  INSTANTIATE_TEST_SUITE_P(Msl, Suite, testing::ValuesIn(table().cases()), msl_test::CaseName())

}  // namespace msl_test
