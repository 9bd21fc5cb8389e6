// Drives every kernel of MSL files with random arguments and compares the tiers with the oracle.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tiers/foreign.h"

namespace mlxn::tiers {
namespace {

void print_summary(const std::vector<EntryReport>& reports, bool tiers_only) {
  uint32_t outcomes[7] = {}, tiers[5] = {}, compared[4] = {};
  for (const EntryReport& report : reports) {
    ++outcomes[static_cast<int>(report.outcome)];
    ++tiers[report.tier + 1];
    for (int t = 0; t < 4; ++t) compared[t] += report.tier_compared[t];
  }
  std::printf("\n%zu entries\n", reports.size());
  for (int t = 0; t < 4; ++t)
    std::printf("tier %d: chosen for %u, compared for %u\n", t, tiers[t + 1], compared[t]);
  if (tiers[0]) std::printf("no tier: %u\n", tiers[0]);
  if (tiers_only) return;
  for (int i = 0; i < 7; ++i)
    std::printf("%s: %u\n", name_of(static_cast<Outcome>(i)), outcomes[i]);
}

// The entries that need a word: everything but plain agreement.
void print_list(const std::vector<EntryReport>& reports, bool tiers_only) {
  for (const EntryReport& report : reports) {
    const bool plain = report.outcome == Outcome::kIdentical && report.racy == 0;
    if (tiers_only ? report.tier >= 0 && report.tier < 3 : plain) continue;
    std::printf("| %s | %s | tier %d | %s |\n", report.name, name_of(report.outcome), report.tier,
                report.detail);
  }
}

void write_json(const std::vector<EntryReport>& reports, const std::string& path) {
  nlohmann::json all = nlohmann::json::array();
  for (const EntryReport& report : reports) {
    all.push_back({{"file", report.file},
                   {"entry", report.name},
                   {"outcome", name_of(report.outcome)},
                   {"tier", report.tier},
                   {"identical", report.identical},
                   {"different", report.different},
                   {"racy", report.racy},
                   {"undefined", report.undefined},
                   {"undrivable", report.undrivable},
                   {"no_effect", report.no_effect},
                   {"detail", report.detail}});
  }
  std::ofstream(path) << all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

int run(int argc, char** argv) {
  CLI::App app{"tier_foreign: kernels from files must give the same bits in every tier"};
  ForeignOptions options;
  std::string json;
  app.add_option("files", options.files, "MSL files, or folders with .metal files")->required();
  app.add_option("-I,--include", options.include_dirs, "folder for #include")
      ->allow_extra_args(false);
  app.add_option("-e,--entry", options.entries, "entry point by name; repeat for several")
      ->allow_extra_args(false);
  app.add_option("--per-file", options.per_file, "at most so many entries of a file (default all)");
  app.add_option("-j,--jobs", options.jobs, "processes (default 1)")->check(CLI::Range(1, 256));
  app.add_option("--json", json, "write all results there");
  app.add_flag("--tiers-only", options.tiers_only, "compile and count tiers, run nothing");
  app.add_flag("-v,--verbose", options.verbose, "a line for each entry");
  CLI11_PARSE(app, argc, argv);
  const std::vector<EntryReport> reports = run_foreign(options);
  print_list(reports, options.tiers_only);
  print_summary(reports, options.tiers_only);
  if (!json.empty()) write_json(reports, json);
  for (const EntryReport& report : reports) {
    if (report.outcome == Outcome::kDifferent) return 1;
  }
  return reports.empty() ? 2 : 0;
}

}  // namespace
}  // namespace mlxn::tiers

int main(int argc, char** argv) {
  return mlxn::tiers::run(argc, argv);
}
