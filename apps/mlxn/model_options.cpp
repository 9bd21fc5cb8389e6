#include "apps/mlxn/model_options.h"

#include <unistd.h>

#include <cstdio>
#include <set>

#include "apps/mlxn/commands.h"
#include "mlxn/base/printable.h"
#include "mlxn/base/settings.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/cut_file_guard.h"
#include "mlxn/ops/builtin_kernels.h"

namespace mlxn::cli {

void add_model_option(CLI::App& command, ModelOptions& options) {
  command.add_option("-m,--model", options.path, "the model, a GGUF file")->required();
}

void add_thread_option(CLI::App& command, ModelOptions& options) {
  command.add_option("-t,--threads", options.threads, "threads that compute (default: all cores)")
      ->check(CLI::Range(1, 1024));
}

void add_evaluator_options(CLI::App& command, ModelOptions& options,
                           std::string_view default_context) {
  command.add_option("-c,--context", options.context,
                     str("most tokens of a sequence (default: ", default_context, ")"));
  command.add_option("-b,--batch", options.chunk, "tokens of the prompt in one pass (default 512)")
      ->check(CLI::Range(1, 65536));
  command.add_option("--cache-type", options.cache, "keys and values as f16 (default) or f32")
      ->check(CLI::IsMember({"f16", "f32"}));
}

Result<Device> open_device(const ModelOptions& options) {
  if (options.threads != 0)
    MLXN_TRY(set_setting(Setting::kCpuWorkers, std::to_string(options.threads)));
  RuntimeOptions runtime = RuntimeOptions::from_settings();
  if (!runtime.serial_dispatch) runtime.auto_barrier = true;
  return Device::create(runtime);
}

KernelName split_kernel_name(const std::string& kernel) {
  for (const DtypeInfo& dtype : dtypes()) {
    const std::string suffix = str("_", dtype.name);
    if (kernel.ends_with(suffix))
      return {kernel.substr(0, kernel.size() - suffix.size()), std::string(dtype.name)};
  }
  return {kernel, ""};
}

namespace {

Status prepare_kernels(const model::Model& model, const ModelOptions& options) {
  std::set<std::string, std::less<>> types = {"f32", options.cache};
  for (const io::TensorInfo& tensor : model.file().tensors())
    if (tensor.dtype) types.emplace(to_string(*tensor.dtype));
  KernelRegistry& kernels = builtin_registry(model.device());
  MLXN_ASSIGN(const std::vector<std::string> names, kernels.kernel_names(model.device()));
  std::vector<PipelineRequest> requests;
  for (const std::string& name : names)
    if (types.contains(split_kernel_name(name).type)) requests.push_back({name});
  ProgressLine progress(!options.quiet);
  return kernels.prewarm(model.device(), requests, 0,
                         [&](size_t done, size_t total, const std::string&) {
                           progress.show("kernels", done, total);
                         });
}

}  // namespace

Result<LoadedModel> load_model(const ModelOptions& options) {
  io::survive_cut_files();
  MLXN_ASSIGN(const Device device, open_device(options));
  LoadedModel loaded;
  MLXN_ASSIGN(loaded.model, model::Model::load(device, options.path));
  auto tokenizer = text::Tokenizer::create(loaded.model->metadata());
  if (!tokenizer) return std::move(tokenizer.error().add_context(options.path));
  loaded.tokenizer = std::move(*tokenizer);
  MLXN_TRY(prepare_kernels(*loaded.model, options));
  return loaded;
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
