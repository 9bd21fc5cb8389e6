#include "apps/mlxn/doctor_report.h"

#include <chrono>

#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/elementwise/elementwise.h"

namespace mlxn::cli {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<SettingRow> read_settings() {
  std::vector<SettingRow> rows;
  for (const SettingInfo& info : settings()) {
    rows.push_back({std::string(info.name), setting_string(info.id),
                    to_string(setting_origin(info.id)), environment_name(info),
                    std::string(info.default_value)});
  }
  return rows;
}

Status run_self_test(const Device& device, SelfTest& test) {
  constexpr uint64_t kCount = 1000;
  test.kernel = "elementwise_add_f32";
  auto start = Clock::now();
  MLXN_TRY(builtin_pipeline(device, test.kernel));
  test.compile_ms = milliseconds_since(start);

  MLXN_ASSIGN(Buffer a, device.alloc(Dtype::kF32, {kCount}));
  MLXN_ASSIGN(Buffer b, device.alloc(Dtype::kF32, {kCount}));
  MLXN_ASSIGN(auto values, a.as_mut_slice<float>());
  for (uint64_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  start = Clock::now();
  MLXN_ASSIGN(CommandEncoder encoder, device.command_encoder());
  MLXN_TRY(elementwise_add(encoder, {a, a, b}));
  MLXN_TRY(encoder.commit_and_wait());
  test.run_ms = milliseconds_since(start);

  MLXN_ASSIGN(auto results, b.as_slice<float>());
  for (uint64_t i = 0; i < kCount; ++i) {
    if (results[i] != 2.0f * static_cast<float>(i)) {
      return Error(ErrorCode::kInternal,
                   str("element ", i, " is ", results[i], ", expected ", 2 * i));
    }
  }
  return {};
}

void find_problems(DoctorReport& report) {
  const BackendReport& backend = report.backend;
  if (!backend.compiler.problem.empty()) {
    report.problems.push_back("compiler: " + backend.compiler.problem);
  }
  if (!backend.cache.folder.empty() && !backend.cache.writable) {
    report.problems.push_back(str("kernel cache: cannot write to ", backend.cache.folder,
                                  "; kernels are compiled in every process"));
  }
  if (!report.self_test.passed) {
    report.problems.push_back("self-test: " + report.self_test.problem);
  }
}

}  // namespace

DoctorReport examine() {
  DoctorReport report;
  report.settings = read_settings();
  auto device = Device::create();
  if (!device) {
    report.problems.push_back("device: " + device.error().message());
    return report;
  }
  report.device = {device->name(), device->limits(), device->residency_enabled()};
  Status status = run_self_test(*device, report.self_test);
  report.self_test.passed = status.has_value();
  if (!status) report.self_test.problem = status.error().message();
  // After the test, so that the cache's counters show what it did.
  report.backend = report_backend(device->metal_device());
  find_problems(report);
  return report;
}

}  // namespace mlxn::cli
