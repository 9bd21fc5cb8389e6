// mlxn replay: runs a frame capture again and compares what it wrote.
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/backend.h"
#include "apps/mlxn/commands.h"
#include "mlxn/core/device.h"

namespace mlxn::cli {
namespace {

struct Options {
  std::string file;
  bool json = false;
};

ReplayResult replay(const std::string& file) {
  auto device = Device::create();
  if (device) return replay_capture(device->metal_device(), file);
  ReplayResult result;
  result.problem = device.error().message();
  return result;
}

void print_json(const ReplayResult& result, bool same) {
  const nlohmann::ordered_json json = {{"identical", same},
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

void print(const Options& options, const ReplayResult& result, bool same) {
  for (const std::string& note : result.notes) std::printf("note: %s\n", note.c_str());
  if (!result.problem.empty()) {
    std::fprintf(stderr, "mlxn replay: %s: %s\n", options.file.c_str(), result.problem.c_str());
    return;
  }
  std::printf("%" PRIu64 " command buffers, %" PRIu64 " dispatches, %" PRIu64 " barriers, %" PRIu64
              " memories\n",
              result.command_buffers, result.dispatches, result.barriers, result.memories);
  std::printf("%.3f ms on the device\n", static_cast<double>(result.gpu_ns) / 1e6);
  if (same) {
    std::printf("identical: %" PRIu64 " bytes compared\n", result.bytes_compared);
  } else {
    std::printf("different: %" PRIu64 " memories; %s\n", result.mismatching_memories,
                result.first_mismatch.c_str());
  }
}

int run_replay(const Options& options) {
  const ReplayResult result = replay(options.file);
  const bool same = result.problem.empty() && result.mismatching_memories == 0;
  if (options.json) {
    print_json(result, same);
  } else {
    print(options, result, same);
  }
  return same ? kGood : kBad;
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
  command->add_flag("--json", options->json, "print one JSON object instead of text");
  command->callback([&run, options] { run = [options] { return run_replay(*options); }; });
}

}  // namespace mlxn::cli
