// mlxn doctor: what is here, and whether it works.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/doctor_report.h"

namespace mlxn::cli {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const DeviceReport& device) {
  const DeviceLimits& limits = device.limits;
  return {{"name", device.name},
          {"max_buffer_length", limits.max_buffer_length},
          {"recommended_working_set", limits.recommended_working_set},
          {"max_threadgroup_memory", limits.max_threadgroup_memory},
          {"max_threads_per_threadgroup", limits.max_threads_per_threadgroup},
          {"unified_memory", limits.unified_memory},
          {"dispatch_sampling", limits.dispatch_sampling},
          {"residency", device.residency}};
}

Json to_json(const CacheReport& cache) {
  Json counters = Json::object();
  for (const auto& [name, value] : cache.counters) counters[name] = value;
  return {{"enabled", !cache.folder.empty()},
          {"folder", cache.folder},
          {"writable", cache.writable},
          {"entries", cache.entries},
          {"bytes", cache.bytes},
          {"max_bytes", cache.max_bytes},
          {"counters", counters}};
}

Json to_json(const DoctorReport& report) {
  Json settings = Json::array();
  for (const SettingRow& row : report.settings) {
    settings.push_back({{"name", row.name},
                        {"value", row.value},
                        {"origin", row.origin},
                        {"default", row.default_value},
                        {"variable", row.variable}});
  }
  const BackendReport& backend = report.backend;
  const SelfTest& test = report.self_test;
  return {{"version", MLXN_VERSION},
          {"healthy", report.problems.empty()},
          {"problems", report.problems},
          {"device", to_json(report.device)},
          {"executor",
           {{"name", backend.executor},
            {"workers", backend.worker_count},
            {"target_cpu", backend.target_cpu},
            {"target_features", backend.target_features}}},
          {"compiler",
           {{"available", backend.compiler.problem.empty() && !backend.executor.empty()},
            {"path", backend.compiler.path},
            {"found_by", backend.compiler.found_by},
            {"version", backend.compiler.version},
            {"problem", backend.compiler.problem}}},
          {"cache", to_json(backend.cache)},
          {"settings", settings},
          {"self_test",
           {{"passed", test.passed},
            {"kernel", test.kernel},
            {"compile_ms", test.compile_ms},
            {"run_ms", test.run_ms},
            {"problem", test.problem}}}};
}

void line(const char* name, const std::string& value) {
  std::printf("  %-24s%s\n", name, value.empty() ? "-" : value.c_str());
}

void line(const char* name, bool value) {
  line(name, std::string(value ? "yes" : "no"));
}

void line_bytes(const char* name, uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024; value /= 1024) ++unit;
  char text[64];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  line(name, std::string(text));
}

void print_device(const DoctorReport& report) {
  const DeviceLimits& limits = report.device.limits;
  std::printf("Device\n");
  line("name", report.device.name);
  line("executor", report.backend.executor);
  line_bytes("largest buffer", limits.max_buffer_length);
  line_bytes("working set", limits.recommended_working_set);
  line_bytes("threadgroup memory", limits.max_threadgroup_memory);
  line("threads per threadgroup", std::to_string(limits.max_threads_per_threadgroup));
  line("unified memory", limits.unified_memory);
  line("dispatch timestamps", limits.dispatch_sampling);
  line("residency set", report.device.residency);
  line("workers", std::to_string(report.backend.worker_count));
  line("kernels compiled for", report.backend.target_cpu);
  line("CPU features", report.backend.target_features);
}

void print_compiler_and_cache(const BackendReport& backend) {
  std::printf("\nCompiler\n");
  line("module", backend.compiler.path);
  line("found", backend.compiler.found_by);
  line("version", backend.compiler.version);
  line("state", backend.compiler.problem.empty() ? "works" : backend.compiler.problem);
  std::printf("\nKernel cache\n");
  const CacheReport& cache = backend.cache;
  line("folder", cache.folder.empty() ? "none, kernels are kept in memory" : cache.folder);
  if (!cache.folder.empty()) {
    line("writable", cache.writable);
    line("entries", std::to_string(cache.entries));
    line_bytes("size", cache.bytes);
    line_bytes("bound", cache.max_bytes);
  }
  std::string counters;
  for (const auto& [name, value] : cache.counters) {
    counters += (counters.empty() ? "" : ", ") + name + " " + std::to_string(value);
  }
  line("this process", counters);
}

void print(const DoctorReport& report) {
  std::printf("mlxn %s\n\n", MLXN_VERSION);
  if (!report.backend.executor.empty()) {
    print_device(report);
    print_compiler_and_cache(report.backend);
    std::printf("\n");
  }
  std::printf("Settings\n");
  for (const SettingRow& row : report.settings) {
    std::printf("  %-24s%-24s%s\n", row.name.c_str(), row.value.empty() ? "-" : row.value.c_str(),
                row.origin.c_str());
  }
  const SelfTest& test = report.self_test;
  if (test.passed) {
    std::printf("\nSelf-test: %s passed, %.2f ms to get the kernel, %.2f ms to run it\n",
                test.kernel.c_str(), test.compile_ms, test.run_ms);
  }
  if (report.problems.empty()) {
    std::printf("\nEverything is in order.\n");
    return;
  }
  std::printf("\nNot in order:\n");
  for (const std::string& problem : report.problems) std::printf("  %s\n", problem.c_str());
}

}  // namespace

void add_doctor(CLI::App& app, Run& run) {
  CLI::App* doctor = app.add_subcommand(
      "doctor",
      "Shows the device, the compiler, the kernel cache and every setting with its value and "
      "where\n"
      "it comes from (the default or a variable), then compiles a kernel, runs it and checks the\n"
      "result.");
  doctor->footer(
      "Exit status: 0 everything is in order, 1 something is not; then the last lines\n"
      "(\"problems\" with --json) say what.");
  auto json = std::make_shared<bool>(false);
  doctor->add_flag("--json", *json, "print one JSON object instead of text");
  doctor->callback([&run, json] {
    run = [json] {
      const DoctorReport report = examine();
      if (*json) {
        std::printf("%s\n", to_json(report).dump(2).c_str());
      } else {
        print(report);
      }
      return report.problems.empty() ? kGood : kBad;
    };
  });
}

}  // namespace mlxn::cli
