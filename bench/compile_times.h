#pragma once

#include <optional>

namespace mlxn::bench {

// How long a one-kernel file takes from text to pipeline, in milliseconds, each time in a new
// process.
struct CompileTimes {
  double cold_ms = 0;  // nothing cached: the compiler is loaded and runs
  double warm_ms = 0;  // from the disk cache of an earlier process
};

std::optional<CompileTimes> measure_compile_times(int repeats);

// What the child process does: compiles and prints the milliseconds. The exit code of the process.
int compile_once();

}  // namespace mlxn::bench
