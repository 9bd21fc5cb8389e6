// mlxn ops: which kernels there are, for which types, and whether they run on this device.
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/open_device.h"
#include "mlxn/ops/builtin_kernels.h"
#include "mlxn/ops/kernel_name.h"

namespace mlxn::cli {
namespace {

struct Options {
  ModelOptions model;  // of the device, and quiet
  bool json = false;
};

struct Support {
  std::vector<std::string> types, missing;  // of those that exist: run here, do not
};

struct Table {
  std::string device;
  std::map<std::string, Support> kernels;  // by stem
  uint64_t available = 0, missing = 0;
};

// Asks the registry that ops dispatch from.
Result<Table> ask(const Options& options) {
  MLXN_ASSIGN(const Device device, open_device({.threads = options.model.threads}));
  KernelRegistry& registry = builtin_registry(device);
  MLXN_ASSIGN(const std::vector<std::string> names, registry.kernel_names(device));
  Table table;
  table.device = device.name();
  ProgressLine progress(!options.model.quiet);
  for (size_t i = 0; i < names.size(); ++i) {
    progress.show("kernels", i, names.size());
    const KernelName name = split_kernel_name(names[i]);
    const bool available = registry.is_available(names[i], device);
    Support& support = table.kernels[name.stem];
    (available ? support.types : support.missing).push_back(name.type);
    ++(available ? table.available : table.missing);
  }
  return table;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += str(text.empty() ? "" : " ", word);
  return text.empty() ? "-" : text;
}

void print_text(const Table& table) {
  std::printf("%-20s %s\n", "kernel", "types that run on this device");
  for (const auto& [stem, support] : table.kernels) {
    std::printf("%-20s %s\n", stem.c_str(), joined(support.types).c_str());
    if (!support.missing.empty())
      std::printf("%-20s not here: %s\n", "", joined(support.missing).c_str());
  }
  std::printf("%llu of %llu kernels run on %s\n", static_cast<unsigned long long>(table.available),
              static_cast<unsigned long long>(table.available + table.missing),
              table.device.c_str());
}

void print_json(const Table& table) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const auto& [stem, support] : table.kernels)
    kernels.push_back({{"kernel", stem}, {"types", support.types}, {"missing", support.missing}});
  const nlohmann::ordered_json all = {{"device", table.device},
                                      {"available", table.available},
                                      {"missing", table.missing},
                                      {"kernels", kernels}};
  std::printf("%s\n", all.dump(1).c_str());
}

}  // namespace

void add_ops(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "ops", "Lists the built-in kernels and the types that each runs for on this device.");
  auto options = std::make_shared<Options>();
  command->add_flag("--json", options->json, "one JSON object");
  command->add_flag("-q,--quiet", options->model.quiet, "no progress");
  command->footer("Exit status: 0 all kernels run here, 1 some do not.");
  command->callback([&run, options] {
    run = [options] {
      const Result<Table> table = ask(*options);
      if (!table) return fail("ops", table.error());
      options->json ? print_json(*table) : print_text(*table);
      return table->missing == 0 ? kGood : kBad;
    };
  });
}

}  // namespace mlxn::cli
