// mlxn, the command line.
#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>
#include <cstdio>

#include "apps/mlxn/commands.h"
#include "mlxn/base/log.h"

namespace mlxn::cli {
namespace {

// The exit status, once all output has reached its place: a full disk is a failure too.
int written(int status) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::fprintf(stderr, "mlxn: cannot write all of the output; is the disk full?\n");
  return kBad;
}

int run(int argc, char** argv) {
  CLI::App app{
      "mlxn: language models and Metal compute on any machine.\n\n"
      "  mlxn run -m FILE PROMPT      answer a prompt; without one, chat\n"
      "  mlxn bench -m FILE           how fast is a model here?\n"
      "  mlxn info -m FILE            what is in a model file?\n"
      "  mlxn tokenize -m FILE        text to tokens\n"
      "  mlxn perplexity -m FILE -f TEXT\n"
      "  mlxn ops                     which kernels run here, for which types?\n"
      "  mlxn doctor                  is everything in order here?\n"
      "  mlxn replay FILE             run a frame capture again and compare"};
  app.footer(
      "Exit status: 0 all is well, 1 something is not, 2 wrong command line.\n"
      "Settings come from MLXN_* variables; `mlxn doctor` lists them.");
  app.set_version_flag("--version", "mlxn " MLXN_VERSION);
  app.require_subcommand(0, 1);  // at most one; none is told below, after unknown words
  Run chosen;
  add_run(app, chosen);
  add_bench(app, chosen);
  add_info(app, chosen);
  add_tokenize(app, chosen);
  add_perplexity(app, chosen);
  add_ops(app, chosen);
  add_doctor(app, chosen);
  add_replay(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kWrongUse;  // --help and --version are such "errors" too
  }
  if (chosen) return written(chosen());
  std::fprintf(stderr, "mlxn: no command given\n\n%s", app.help().c_str());
  return kWrongUse;
}

}  // namespace
}  // namespace mlxn::cli

int main(int argc, char** argv) {
  mlxn::log_enabled(mlxn::LogLevel::kError);  // a wrong value of MLXN_LOG is told at once
  return mlxn::cli::run(argc, argv);
}
