// Batches of random programs, compared between the oracle and every other tier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/tiers/judge.h"
#include "tests/tiers/kernel_generator.h"

namespace mlxn::tiers {

struct FuzzOptions {
  uint64_t seed = 1;
  uint64_t programs = 1000;
  unsigned jobs = 1;
  int highest_tier = 3;       // code of tiers above it is not looked at
  uint64_t program_seed = 0;  // not 0: only the program with this seed
  bool shrink = true;
  bool progress = false;
};

// One library of programs, the shape it is compiled for and the sizes it runs at.
struct Batch {
  static constexpr uint32_t kPrograms = 16;
  uint64_t number = 0;
  msl::Shape shape;
  std::vector<Launch> launches;
  std::vector<int> tiers;  // forced ones
  std::vector<Program> programs;
  uint64_t input_seed = 0;
};
Batch make_batch(uint64_t seed, uint64_t number);

// What came out. Lives in memory that all processes share; plain counters, each process adds by
// atomic operations.
struct FuzzCounts {
  uint64_t programs = 0;     // looked at
  uint64_t comparisons = 0;  // runs compared with the oracle
  uint64_t by_tier[4] = {};  // the same, by the tier that ran
  uint64_t tier_programs[4] = {};
  uint64_t not_lower = 0;  // programs that only the oracle's tier accepts
  uint64_t racy = 0, different = 0, crashed = 0, refused = 0;
  bool good() const { return racy + different + crashed + refused == 0; }
};

// Runs everything, prints failures as they are found. False when something failed.
bool run_fuzz(const FuzzOptions& options, FuzzCounts& counts);

}  // namespace mlxn::tiers
