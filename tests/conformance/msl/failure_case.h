// Source that must not compile: the message names the user's line and column and nothing of ours.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/conformance/msl/expression_case.h"
#include "tests/conformance/msl/gpu.h"

namespace msl_test {

struct FailureCase {
  const char* name;
  const char* source;  // after the two lines of the prologue, so its first line is line 3
  const char* place;   // "line:column" of the first error
  const char* text;    // part of the message
};
inline void PrintTo(const FailureCase& c, std::ostream* out) {
  *out << c.name;
}

inline void expect_failure(const FailureCase& c) {
  const Library library = compile(kPrologue + std::string(c.source));
  ASSERT_FALSE(library.library) << "compiled";
  EXPECT_NE(library.error.find(c.text), std::string::npos) << library.error;
  EXPECT_NE(library.error.find(std::string("program_source:") + c.place), std::string::npos)
      << library.error;
  EXPECT_NE(library.error.find("error: "), std::string::npos) << library.error;
  // Nothing of the standard library's own making shows through.
  for (const char* hidden :
       {"msl_", "__msl", "__get_", "__put_", "enable_if", "annotate", "declspec"})
    EXPECT_EQ(library.error.find(hidden), std::string::npos) << hidden << " in:\n" << library.error;
}

// The beginning of a kernel whose body starts on the next line.
#define HEAD \
  "kernel void k(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"

#define MSL_FAILURES(Suite, cases)                                       \
  class Suite : public testing::TestWithParam<msl_test::FailureCase> {}; \
  TEST_P(Suite, Check) {                                                 \
    msl_test::expect_failure(GetParam());                                \
  }                                                                      \
  INSTANTIATE_TEST_SUITE_P(Msl, Suite, testing::ValuesIn(cases), msl_test::CaseName())

}  // namespace msl_test
