#include "apps/mlxn/model_options.h"

#include <unistd.h>

#include <cstdio>

#include "apps/mlxn/commands.h"
#include "mlxn/base/printable.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/open_device.h"
#include "mlxn/io/cut_file_guard.h"

namespace mlxn::cli {

void add_model_option(CLI::App& command, ModelOptions& options) {
  command.add_option("-m,--model", options.path, "the model, a GGUF file")->required();
}

void add_compute_options(CLI::App& command, ModelOptions& options) {
  command.add_option("-t,--threads", options.threads, "threads that compute (default: all cores)")
      ->check(CLI::Range(1, 1024));
  command.add_flag("--exact,--mmap", options.exact,
                   "weights as they lie in the file, activations unrounded: slower");
}

void add_evaluator_options(CLI::App& command, ModelOptions& options,
                           std::string_view default_context) {
  command.add_option("-c,--context", options.context,
                     str("most tokens of a sequence (default: ", default_context, ")"));
  command.add_option("-b,--batch", options.chunk, "tokens of the prompt in one pass (default 512)")
      ->check(CLI::Range(1, 65536));
  command
      .add_option("--cache-type", options.cache, "keys and values as f16 (default), q8_0 or f32")
      ->check(CLI::IsMember({"f16", "q8_0", "f32"}));
}

Result<std::shared_ptr<const model::Model>> load_model(const ModelOptions& options) {
  io::survive_cut_files();
  MLXN_ASSIGN(const Device device, open_device({.threads = options.threads}));
  ProgressLine progress(!options.quiet);
  auto show = [&](const char* what) {
    return [&progress, what](uint64_t done, uint64_t total) { progress.show(what, done, total); };
  };
  MLXN_ASSIGN(auto model,
              model::Model::load(device, options.path,
                                 {.exact = options.exact, .progress = show("weights")}));
  MLXN_ASSIGN(const Dtype cache, parse_dtype(options.cache));
  MLXN_TRY(model->prepare_kernels(cache, show("kernels")));
  return model;
}

Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const ModelOptions& options,
                                                              const model::Model& model) {
  auto tokenizer = text::Tokenizer::create(model.metadata());
  if (!tokenizer) return std::move(tokenizer.error().add_context(options.path));
  return std::move(*tokenizer);
}

Result<model::EvaluatorOptions> evaluator_options(const ModelOptions& options) {
  model::EvaluatorOptions result;
  result.context = options.context;
  result.chunk = options.chunk;
  MLXN_ASSIGN(result.cache, parse_dtype(options.cache));
  return result;
}

int fail(std::string_view command, const Error& error) {
  std::fprintf(stderr, "mlxn %.*s: %s\n", static_cast<int>(command.size()), command.data(),
               printable(error.to_string()).c_str());
  return kBad;
}

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled && isatty(STDERR_FILENO)) {}

void ProgressLine::show(std::string_view what, uint64_t done, uint64_t total) {
  if (!enabled_ || total == 0) return;
  const int percent = static_cast<int>(100 * done / total);
  if (percent == last_percent_) return;
  last_percent_ = percent;
  constexpr int kWidth = 30;
  const std::string bar(static_cast<size_t>(percent * kWidth / 100), '#');
  std::fprintf(stderr, "\r%.*s [%-*s] %3d %%", static_cast<int>(what.size()), what.data(), kWidth,
               bar.c_str(), percent);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
  last_percent_ = -1;
}

}  // namespace mlxn::cli
