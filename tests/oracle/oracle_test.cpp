// Our ops beside MLX's, on what make_cases.py wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "mlxn/base/strings.h"
#include "mlxn/core/device/open_device.h"
#include "mlxn/io/safetensors.h"
#include "mlxn/testing/stored_values.h"
#include "tests/oracle/oracle_case.h"

namespace mlxn::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> case_files() {
  std::vector<fs::path> out;
  const char* folder = std::getenv("MLXN_TEST_ORACLE");
  if (!folder) return out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

Result<std::vector<double>> values_of(const Buffer& buffer) {
  std::vector<double> out(buffer.element_count());
  MLXN_TRY(cases::load(buffer.dtype(), {buffer.contents(), buffer.byte_len()}, out));
  return out;
}

Status compare(const OracleCase& one, const Buffer& output) {
  MLXN_ASSIGN(const Buffer expected, one.buffer("expected"));
  MLXN_ASSIGN(const std::vector<double> want, values_of(expected));
  MLXN_ASSIGN(const std::vector<double> got, values_of(output));
  MLXN_ASSIGN(const double relative, one.number("relative"));
  MLXN_ASSIGN(const double absolute, one.number("absolute"));
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(want[i]) && std::isnan(got[i])) continue;
    if (std::abs(got[i] - want[i]) <= relative * std::abs(want[i]) + absolute) continue;
    return Error(ErrorCode::kInternal,
                 str("element ", i, " of ", want.size(), " is ", got[i], ", MLX has ", want[i]));
  }
  return {};
}

Status run(const Device& device, const fs::path& file, std::map<std::string, int>& counts) {
  MLXN_ASSIGN(const OracleCase one, OracleCase::open(device, file.string()));
  ++counts[one.op()];
  const auto op = oracle_ops().find(one.op());
  if (op == oracle_ops().end()) return Error(ErrorCode::kUnsupported, str("no op ", one.op()));
  MLXN_ASSIGN(const Buffer expected, one.buffer("expected"));
  MLXN_ASSIGN(const Buffer output, device.alloc(expected.dtype(), expected.shape()));
  CommandEncoder encoder(device);
  MLXN_TRY(op->second(encoder, one, output));
  MLXN_TRY(encoder.commit_and_wait());
  return compare(one, output);
}

TEST(Oracle, AgreesWithMlx) {
  const auto device = open_device({.threads = 2});
  ASSERT_TRUE(device) << device.error().to_string();
  const auto files = case_files();
  ASSERT_FALSE(files.empty()) << "MLXN_TEST_ORACLE: expected a folder that make_cases.py wrote";
  std::map<std::string, int> counts;
  for (const fs::path& file : files) {
    const Status status = run(*device, file, counts);
    EXPECT_TRUE(status) << file.filename() << ": " << status.error().to_string();
  }
  for (const auto& [op, count] : oracle_ops()) EXPECT_GE(counts[op], 3) << op;
}

}  // namespace
}  // namespace mlxn::test
