// Kernels from files, driven by their reflection alone and compared between tiers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metal/msl/interface.h"

namespace mlxn::tiers {

struct ForeignOptions {
  std::vector<std::string> files;  // folders are searched for .metal files
  std::vector<std::string> include_dirs;
  std::vector<std::string> entries;  // names; empty: all
  uint32_t per_file = 0;             // at most so many entries of a file, spread evenly; 0: all
  unsigned jobs = 1;
  bool tiers_only = false;  // compile and count, run nothing
  bool verbose = false;     // a line for each entry
};

// What came of an entry over all sizes and fillings.
enum class Outcome : uint8_t {
  kIdentical,   // compared in at least one case, never different
  kDifferent,   // or crashed in a tier where the oracle did not
  kRacy,        // the oracle's two orders differ, in every case that could be compared
  kUndefined,   // the result depends on memory the kernel never wrote, in every such case
  kUndrivable,  // the oracle left its buffers, crashed, hung or refused in every case
  kNoEffect,    // ran, and changed no buffer
  kNotCompiled,
};
const char* name_of(Outcome outcome);

// Plain data: children fill it in shared memory.
struct EntryReport {
  char file[120], name[200], detail[400];
  Outcome outcome;
  int tier;               // the compiler's own choice
  bool tier_compared[4];  // tiers whose code ran
  uint32_t identical, different, racy, undefined, undrivable, no_effect;  // cases
};

std::vector<EntryReport> run_foreign(const ForeignOptions& options);

}  // namespace mlxn::tiers
