// Compares our Metal with plain C++ loops and with PoCL, in one run, and measures compilation.
// Prints a table and writes the numbers as JSON.
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/compile_times.h"
#include "bench/measure.h"

namespace mlxn::bench {
namespace {

struct Options {
  double seconds = 1;
  unsigned workers = 0;  // 0: all cores
  std::string only;      // a part of the names of the problems to run
  std::string output = std::string(MLXN_BENCH_FOLDER) + "/results/latest.json";
  bool compile_once = false, help = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--compile-once") {
      options.compile_once = true;
    } else if (word == "--help") {
      options.help = true;
    } else if (word == "--seconds" && value) {
      options.seconds = std::atof(value), ++i;
    } else if (word == "--workers" && value) {
      options.workers = static_cast<unsigned>(std::max(0, std::atoi(value))), ++i;
    } else if (word == "--only" && value) {
      options.only = value, ++i;
    } else if (word == "--output" && value) {
      options.output = value, ++i;
    } else {
      std::fprintf(stderr, "unknown or incomplete option %s\n", word.c_str());
      return false;
    }
  }
  return true;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "unknown";
}

unsigned core_count() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

// Largest difference relative to the size of the values.
double difference(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0, scale = 1e-30;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - b[i]);
    if (!(d <= largest)) largest = d;
    scale = std::max(scale, std::fabs(static_cast<double>(b[i])));
  }
  return largest / scale;
}

struct Measured {
  std::string name;
  std::optional<Timing> timing;
  std::string why;   // there is no timing
  double error = 0;  // relative to the first runner's result
};

// All implementations of a problem, in turns: what else goes on in the machine then hits all alike.
std::vector<Measured> measure_all(const Problem& problem,
                                  const std::vector<std::unique_ptr<Runner>>& runners,
                                  double seconds) {
  constexpr int kRounds = 3;
  std::vector<Measured> all(runners.size());
  Floats expected;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < runners.size(); ++i) {
      Measured& one = all[i];
      one.name = runners[i]->name();
      if (round > 0 && !one.timing) continue;
      Floats out;
      const auto timing = runners[i]->run(problem, seconds / kRounds, out, one.why);
      if (expected.empty()) expected = out;
      if (timing) one.error = std::max(one.error, difference(out, expected));
      if (timing && one.timing) {
        one.timing->best_us = std::min(one.timing->best_us, timing->best_us);
        one.timing->median_us = std::min(one.timing->median_us, timing->median_us);
        one.timing->runs += timing->runs;
      } else {
        one.timing = timing;
      }
    }
  }
  return all;
}

// "-" for nothing.
std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), value == 0 ? "-" : "%.2f", value);
  return text;
}

int run(const Options& options) {
  const unsigned cores = options.workers != 0 ? options.workers : core_count();
  std::vector<std::unique_ptr<Runner>> runners;
  runners.push_back(make_plain_runner(cores));
  runners.push_back(make_metal_runner(cores));
  if (auto opencl = make_opencl_runner(cores)) runners.push_back(std::move(opencl));

  nlohmann::json json;
  json["machine"] = {{"processor", processor()}, {"cores", core_count()}};
  json["workers"] = cores;
  json["compiler"] = __VERSION__;
  std::printf("%s, %u of %u cores; best time of each\n\n", processor().c_str(), cores,
              core_count());
  std::printf("%-26s %-15s %12s %12s %9s %13s %10s %9s\n", "problem", "implementation", "best us",
              "median us", "GB/s", "GFLOP/s core", "vs plain", "error");
  bool right = true;
  for (const Problem& problem : make_problems()) {
    if (problem.name.find(options.only) == std::string::npos) continue;
    double plain_us = 0;
    for (const Measured& one : measure_all(problem, runners, options.seconds)) {
      if (!one.timing) {
        std::printf("%-26s %-15s %s\n", problem.name.c_str(), one.name.c_str(), one.why.c_str());
        right = false;
        continue;
      }
      const Timing& timing = *one.timing;
      if (plain_us == 0) plain_us = timing.best_us;
      const double speed = plain_us / timing.best_us;
      const double gflops = problem.flops / timing.best_us * 1e-3 / cores;
      right &= one.error < 1e-4;
      std::printf("%-26s %-15s %12.1f %12.1f %9.1f %13s %9.2fx %9.1e\n", problem.name.c_str(),
                  one.name.c_str(), timing.best_us, timing.median_us,
                  problem.bytes / timing.best_us * 1e-3, figure(gflops).c_str(), speed, one.error);
      json["kernels"].push_back({{"problem", problem.name},
                                 {"implementation", one.name},
                                 {"best_us", timing.best_us},
                                 {"median_us", timing.median_us},
                                 {"runs", timing.runs},
                                 {"gflops_per_core", gflops},
                                 {"speed_vs_plain", speed},
                                 {"relative_error", one.error}});
    }
    std::printf("\n");
  }
  if (const auto times = measure_compile_times(5)) {
    std::printf(
        "one-kernel file, text to pipeline, new process: cold %.1f ms, from disk cache %.2f ms\n",
        times->cold_ms, times->warm_ms);
    json["compile"] = {{"cold_ms", times->cold_ms}, {"warm_ms", times->warm_ms}};
  } else {
    std::printf("compile times could not be measured\n");
    right = false;
  }
  std::ofstream(options.output) << json.dump(2) << "\n";
  std::printf("written to %s\n", options.output.c_str());
  return right ? 0 : 1;
}

}  // namespace
}  // namespace mlxn::bench

int main(int argc, char** argv) {
  mlxn::bench::Options options;
  if (!mlxn::bench::parse(argc, argv, options)) return 2;
  if (options.help) {
    std::puts(
        "Usage: mlxn_bench [--seconds N for each measurement] [--workers N threads; default all "
        "cores]\n                  [--only PART of a problem's name] [--output FILE.json]");
    return 0;
  }
  return options.compile_once ? mlxn::bench::compile_once() : mlxn::bench::run(options);
}
