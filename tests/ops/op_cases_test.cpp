// Every case and every wrong call of every op.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "mlxn/base/strings.h"
#include "mlxn/testing/broken_calls.h"
#include "mlxn/testing/case_run.h"
#include "mlxn/testing/ops_doc.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

using cases::BrokenCall;
using cases::OpCase;
using cases::OpCases;
using cases::WrongCall;

const std::vector<OpCases>& ops() {
  static const std::vector<OpCases> all = cases::all_op_cases();
  return all;
}

struct NamedCase {
  std::string name;
  const OpCase* op_case = nullptr;
};
struct NamedCall {
  std::string name;
  const WrongCall* call = nullptr;
};
struct NamedOp {
  std::string name;
  const OpCases* op = nullptr;
};
void PrintTo(const NamedOp& named, std::ostream* out) {
  *out << named.name;
}
void PrintTo(const NamedCase& named, std::ostream* out) {
  *out << named.name;
}
void PrintTo(const NamedCall& named, std::ostream* out) {
  *out << named.name;
}

// GoogleTest wants letters, digits and underscores.
template <class Named>
std::string test_name(const testing::TestParamInfo<Named>& info) {
  std::string out = info.param.name;
  std::ranges::replace_if(out, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return out;
}

std::vector<NamedCase> all_cases() {
  std::vector<NamedCase> out;
  for (const OpCases& op : ops()) {
    for (const OpCase& entry : op.cases) {
      if (entry.use == cases::Use::kTest) out.push_back({op.op + " " + entry.name(), &entry});
    }
  }
  return out;
}

std::vector<NamedOp> all_ops() {
  std::vector<NamedOp> out;
  for (const OpCases& op : ops()) out.push_back({op.op, &op});
  return out;
}

std::vector<NamedCall> all_wrong_calls() {
  std::vector<NamedCall> out;
  for (const OpCases& op : ops()) {
    for (const WrongCall& call : op.wrong_calls) out.push_back({op.op + " " + call.what, &call});
  }
  return out;
}

class OpCaseTest : public testing::TestWithParam<NamedCase> {};
INSTANTIATE_TEST_SUITE_P(All, OpCaseTest, testing::ValuesIn(all_cases()), test_name<NamedCase>);

TEST_P(OpCaseTest, AgreesWithTheReference) {
  const uint64_t seed = std::hash<std::string>()(GetParam().name) +
                        static_cast<uint64_t>(GTEST_FLAG_GET(random_seed));
  std::vector<std::byte> first;
  for (OpDevice* on : op_devices()) {
    SCOPED_TRACE(str(on->name, ", --gtest_random_seed=", GTEST_FLAG_GET(random_seed)));
    auto run = cases::CaseRun::create(*GetParam().op_case, on->device, seed);
    ASSERT_TRUE(run) << run.error().to_string();
    const Status status = run->run();
    ASSERT_TRUE(status) << status.error().to_string();
    if (!first.empty()) {
      EXPECT_EQ(run->bytes() == first, true) << "workers change the bits";
      continue;
    }
    const Status check = run->check();
    EXPECT_TRUE(check) << check.error().message();
    first = run->bytes();
  }
}

class WrongCallTest : public testing::TestWithParam<NamedCall> {};
INSTANTIATE_TEST_SUITE_P(All, WrongCallTest, testing::ValuesIn(all_wrong_calls()),
                         test_name<NamedCall>);

TEST_P(WrongCallTest, IsRefused) {
  OpDevice& on = *op_devices().front();
  const WrongCall& wrong = *GetParam().call;
  CommandEncoder encoder(on.device);
  encoder.start_capture();
  std::vector<Buffer> buffers;
  for (const auto& [dtype, shape] : wrong.arguments) {
    buffers.push_back(*on.device.alloc(dtype, shape));
  }
  const Status status = wrong.call({encoder, buffers});
  ASSERT_FALSE(status);
  EXPECT_EQ(to_string(status.error().code()), to_string(wrong.code));
  EXPECT_NE(status.error().message().find(wrong.message), std::string::npos)
      << status.error().message() << "\nexpected: " << wrong.message;
  EXPECT_EQ(encoder.take_capture()->size(), 0u) << "a refused call was encoded";
}

// One case of an op, with one tensor changed: refused, by name, before anything is encoded.
class BrokenCallTest : public testing::TestWithParam<NamedOp> {};
INSTANTIATE_TEST_SUITE_P(All, BrokenCallTest, testing::ValuesIn(all_ops()), test_name<NamedOp>);

TEST_P(BrokenCallTest, IsRefused) {
  OpDevice& on = *op_devices().front();
  const OpCases& op = *GetParam().op;
  for (const BrokenCall& broken : cases::broken_calls(op)) {
    SCOPED_TRACE(broken.what);
    CommandEncoder encoder(on.device);
    encoder.start_capture();
    const auto buffers = broken.buffers(on.device);
    ASSERT_TRUE(buffers) << buffers.error().to_string();
    const Status status = broken.from->encode({encoder, *buffers});
    EXPECT_EQ(encoder.take_capture()->size(), 0u) << "something was encoded";
    EXPECT_FALSE(status) << "accepted";
    if (status) continue;
    EXPECT_EQ(status.error().message().find(op.op), 0u) << status.error().message();
    EXPECT_THAT(status.error().code(),
                testing::AnyOf(ErrorCode::kInvalidArgument, ErrorCode::kDtypeMismatch,
                               ErrorCode::kShapeMismatch, ErrorCode::kOutOfRange))
        << status.error().to_string();
  }
}

TEST(OpsDoc, IsUpToDate) {
  std::ifstream file(MLXN_SOURCE_DIR "/docs/ops.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), cases::ops_doc(ops())) << "make it again: ops_doc > docs/ops.md";
}

// Goes up with every op, never down.
constexpr size_t kFewestCases = 4100;

TEST(OpsDoc, CasesOnlyGrow) {
  EXPECT_GE(all_cases().size(), kFewestCases);
}

// No op is without cases, a wrong call and a benchmark.
TEST(OpsDoc, EveryOpIsComplete) {
  for (const OpCases& op : ops()) {
    EXPECT_TRUE(std::ranges::count(op.cases, cases::Use::kTest, &OpCase::use) > 0) << op.op;
    EXPECT_TRUE(std::ranges::count(op.cases, cases::Use::kBench, &OpCase::use) > 0) << op.op;
    EXPECT_FALSE(op.wrong_calls.empty()) << op.op;
  }
}

}  // namespace
}  // namespace mlxn::test
