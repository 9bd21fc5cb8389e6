// Runs generated programs in the oracle and in a tier and compares what they leave in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/tiers/program.h"
#include "tests/tiers/tier_runner.h"

namespace mlxn::tiers {

// Contents of all buffers of a program.
struct Memory {
  std::vector<uint32_t> out, counters;
  std::vector<float> fout;
  std::vector<int32_t> in;
  std::vector<float> fin;
  Parameters parameters{};
};
Memory make_memory(uint64_t seed, const Launch& launch);

// Empty when equal, NaNs among themselves too; else the first difference in words.
std::string first_difference(const Memory& expected, const Memory& actual);

Status run_program(const Machine& machine, const rt::Pipeline& pipeline, const Way& way,
                   const Launch& launch, Memory& memory);

enum class Verdict : int { kSame = 0, kDifferent = 10, kRacy = 11, kRefused = 12, kCrashed = 13 };

// A program, the tier and the sizes at which it is looked at.
struct Case {
  Program program;
  Way way;
  Launch launch;
  uint64_t input_seed = 0;
};

// Compiles and runs one case in a child process. `detail` says what differs or failed.
Verdict judge(const Machine& machine, const msl::Compiler& compiler, const Case& one,
              std::string& detail);

}  // namespace mlxn::tiers
