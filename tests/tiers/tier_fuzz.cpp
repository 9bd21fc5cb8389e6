// Compares random kernels between the tiers of the CPU executor.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/tiers/fuzz.h"

int main(int argc, char** argv) {
  CLI::App app{"tier_fuzz: random race-free kernels must give the same bits in every tier"};
  mlxn::tiers::FuzzOptions options;
  bool keep_size = false, print_only = false;
  app.add_option("--programs", options.programs, "how many (default 1000)");
  app.add_option("--seed", options.seed, "of the whole run (default 1)");
  app.add_option("-j,--jobs", options.jobs, "processes (default 1)")->check(CLI::Range(1, 256));
  app.add_option("--highest-tier", options.highest_tier, "compare up to this one (default 3)")
      ->check(CLI::Range(0, 3));
  app.add_option("--program-seed", options.program_seed,
                 "only this one of them, as a failure's report names it");
  app.add_flag("--no-shrink", keep_size, "print failing programs as they are");
  app.add_flag("--progress", options.progress, "tell how far it is, every 10 seconds");
  app.add_flag("--print", print_only, "print the first batch instead of running it");
  CLI11_PARSE(app, argc, argv);
  options.shrink = !keep_size;
  if (print_only) {
    for (const auto& program : mlxn::tiers::make_batch(options.seed, 0).programs)
      std::printf("%s\n", mlxn::tiers::print(program).c_str());
    return 0;
  }
  mlxn::tiers::FuzzCounts counts;
  const bool good = mlxn::tiers::run_fuzz(options, counts);
  auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf("%llu programs, %llu runs compared with the oracle\n", number(counts.programs),
              number(counts.comparisons));
  for (int tier = 0; tier < 4; ++tier)
    std::printf("tier %d: %llu programs compiled, %llu runs\n", tier,
                number(counts.tier_programs[tier]), number(counts.by_tier[tier]));
  std::printf(
      "only the oracle's tier: %llu; different %llu, crashed %llu, refused %llu, racy %llu\n",
      number(counts.not_lower), number(counts.different), number(counts.crashed),
      number(counts.refused), number(counts.racy));
  return good ? 0 : 1;
}
