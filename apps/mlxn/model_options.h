// What all commands that load a model have in common: options, loading, progress.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "mlxn/model/evaluator.h"
#include "mlxn/model/model.h"
#include "mlxn/text/tokenizer/tokenizer.h"

namespace mlxn::cli {

struct ModelOptions {
  std::string path;
  uint32_t threads = 0;  // 0: a thread for each core
  uint64_t context = 0;
  uint32_t chunk = 512;
  std::string cache = "f16";
  bool exact = false;
  bool quiet = false;
};

void add_model_option(CLI::App& command, ModelOptions& options);     // -m
void add_compute_options(CLI::App& command, ModelOptions& options);  // -t, --exact
// -c, -b, --cache-type; what -c is when it is not given differs between commands
void add_evaluator_options(CLI::App& command, ModelOptions& options,
                           std::string_view default_context);

// Also gets the kernels ready: where they must be compiled, that is what takes long, and it shows
// progress.
Result<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options);
// A file may have none, such as one made for benchmarks.
Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const ModelOptions& options,
                                                              const model::Model& model);

Result<model::EvaluatorOptions> evaluator_options(const ModelOptions& options);

// Prints "mlxn: command: error" and gives the exit status of a failure.
int fail(std::string_view command, const Error& error);

// A line on standard error that is written over, when that is a terminal; else nothing.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view what, uint64_t done, uint64_t total);
  void clear();

 private:
  bool enabled_;
  bool shown_ = false;
  int last_percent_ = -1;
};

}  // namespace mlxn::cli
