// mlxn replay: runs a frame capture again and compares what it wrote.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/backend.h"
#include "apps/mlxn/commands.h"
#include "mlxn/base/printable.h"

namespace mlxn::cli {
namespace {

struct Options {
  std::string file;
  uint64_t shuffles = 0;
  bool json = false;
};

bool is_same(const ReplayResult& result) {
  return result.problem.empty() && result.mismatching_memories == 0;
}

// The plain run, and then shuffled ones, up to the first that does not give the same.
struct Outcome {
  ReplayResult result;
  uint64_t seed = 0;  // of that run; 0: the plain one
};

Outcome replay(const Options& options) {
  Outcome outcome{replay_capture(options.file, 0)};
  while (is_same(outcome.result) && outcome.seed < options.shuffles) {
    ++outcome.seed;
    outcome.result = replay_capture(options.file, outcome.seed);
  }
  return outcome;
}

void print_json(const Options& options, const Outcome& outcome) {
  const ReplayResult& result = outcome.result;
  const nlohmann::ordered_json json = {{"identical", is_same(result)},
                                       {"shuffles", options.shuffles},
                                       {"schedule_seed", outcome.seed},
                                       {"problem", result.problem},
                                       {"command_buffers", result.command_buffers},
                                       {"dispatches", result.dispatches},
                                       {"barriers", result.barriers},
                                       {"memories", result.memories},
                                       {"bytes_compared", result.bytes_compared},
                                       {"mismatching_memories", result.mismatching_memories},
                                       {"first_mismatch", result.first_mismatch},
                                       {"gpu_ns", result.gpu_ns},
                                       {"notes", result.notes}};
  std::printf("%s\n", json.dump(2).c_str());
}

void print(const Options& options, const Outcome& outcome) {
  const ReplayResult& result = outcome.result;
  for (const std::string& note : result.notes) std::printf("note: %s\n", printable(note).c_str());
  if (!result.problem.empty()) {
    std::fprintf(stderr, "mlxn replay: %s: %s\n", options.file.c_str(), result.problem.c_str());
    return;
  }
  std::printf("%" PRIu64 " command buffers, %" PRIu64 " dispatches, %" PRIu64 " barriers, %" PRIu64
              " memories\n",
              result.command_buffers, result.dispatches, result.barriers, result.memories);
  std::printf("%.3f ms on the device\n", static_cast<double>(result.gpu_ns) / 1e6);
  if (is_same(result)) {
    std::printf("identical: %" PRIu64 " bytes compared", result.bytes_compared);
    if (options.shuffles) {
      std::printf(", in order and in %" PRIu64 " shuffled schedules", options.shuffles);
    }
    std::printf("\n");
    return;
  }
  std::printf("different: %" PRIu64 " memories; %s\n", result.mismatching_memories,
              result.first_mismatch.c_str());
  if (outcome.seed) {
    std::printf("only when shuffled, with MLXN_SCHEDULE_SEED=%" PRIu64
                ": a barrier is missing, or a kernel races with itself\n",
                outcome.seed);
  }
}

int run_replay(const Options& options) {
  const Outcome outcome = replay(options);
  if (options.json) {
    print_json(options, outcome);
  } else {
    print(options, outcome);
  }
  return is_same(outcome.result) ? kGood : kBad;
}

}  // namespace

void add_replay(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "replay",
      "Runs the command buffers of a frame capture again on the default device and compares the\n"
      "memory they leave with what the capture saw. The setting metal_capture, or the capture\n"
      "manager in a program, writes such files. A capture holds kernels, which run with your\n"
      "rights: replay only those of people you trust.");
  command->footer(
      "Exit status: 0 it ran and all memory is identical, 1 it differs or did not run.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "the capture")->required();
  command->add_option("--shuffle", options->shuffles,
                      "run it so many times more, each time with another order of everything that\n"
                      "no barrier orders: finds missing barriers and races");
  command->add_flag("--json", options->json, "print one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return run_replay(*options); }; });
}

}  // namespace mlxn::cli
