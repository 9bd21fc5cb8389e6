// The subcommands of `mlxn`. Each adds itself to the command line; when it is chosen, parsing sets
// `run`, which returns the exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace mlxn::cli {

// Of every subcommand.
inline constexpr int kGood = 0;
inline constexpr int kBad = 1;            // it ran, and what it looked at is not in order
inline constexpr int kWrongUse = 2;       // the command line is wrong
inline constexpr int kInterrupted = 130;  // by Ctrl-C, as shells count it

using Run = std::function<int()>;
void add_doctor(CLI::App& app, Run& run);
void add_replay(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_bench(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_tokenize(CLI::App& app, Run& run);
void add_perplexity(CLI::App& app, Run& run);
void add_ops(CLI::App& app, Run& run);

}  // namespace mlxn::cli
