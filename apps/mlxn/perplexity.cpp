// mlxn perplexity: how well a model predicts a text.
#include <cmath>
#include <cstdio>
#include <memory>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/mapped_file.h"

namespace mlxn::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string file;
  uint64_t chunks = 0;
};

// -log of the probability that softmax(logits) gives to a token.
double negative_log_likelihood(std::span<const float> logits, int32_t token) {
  double most = logits[0], sum = 0;
  for (float logit : logits) most = std::max(most, static_cast<double>(logit));
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

struct Score {
  uint64_t count = 0;
  double sum = 0, squares = 0;
  void add(double nll) {
    ++count;
    sum += nll;
    squares += nll * nll;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double perplexity() const { return std::exp(mean()); }
  // One standard deviation, carried from the mean of the logarithms to the perplexity.
  double error() const {
    if (count < 2) return 0;
    const double variance = squares / static_cast<double>(count) - mean() * mean();
    return std::sqrt(std::max(0.0, variance) / static_cast<double>(count - 1)) * perplexity();
  }
};

Result<std::vector<int32_t>> tokens_of(const Options& options, const text::Tokenizer& tokenizer) {
  MLXN_ASSIGN(const io::MappedFile file, io::MappedFile::open(options.file));
  std::string text(file.size(), '\0');
  MLXN_TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  return tokenizer.encode(text);
}

Result<Score> measure(const Options& options) {
  MLXN_ASSIGN(const auto model, load_model(options.model));
  MLXN_ASSIGN(const auto tokenizer, load_tokenizer(options.model, *model));
  MLXN_ASSIGN(model::EvaluatorOptions settings, evaluator_options(options.model));
  settings.context = options.model.context ? options.model.context : 512;
  settings.outputs = settings.chunk =
      static_cast<uint32_t>(std::min<uint64_t>(settings.chunk, settings.context));
  MLXN_ASSIGN(const std::vector<int32_t> tokens, tokens_of(options, *tokenizer));
  const uint64_t context = settings.context;
  uint64_t chunks = tokens.size() / context;
  if (chunks == 0 || context < 4) {
    return Error(ErrorCode::kInvalidArgument,
                 str("a text of ", tokens.size(), " tokens for a context of ", context,
                     ", expected at least one full context of 4 tokens or more"));
  }
  if (options.chunks != 0) chunks = std::min(chunks, options.chunks);
  std::printf("%zu tokens, %llu chunks of %llu, the second half of each is scored\n", tokens.size(),
              static_cast<unsigned long long>(chunks), static_cast<unsigned long long>(context));
  MLXN_ASSIGN(model::Evaluator evaluator, model::Evaluator::create(model, settings));
  ProgressLine progress(!options.model.quiet);
  Score score;
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    std::vector<int32_t> part(tokens.begin() + static_cast<std::ptrdiff_t>(chunk * context),
                              tokens.begin() + static_cast<std::ptrdiff_t>((chunk + 1) * context));
    const std::vector<int32_t> wanted = part;
    if (tokenizer->adds_bos() && tokenizer->special().bos) part[0] = *tokenizer->special().bos;
    MLXN_TRY(evaluator.truncate(0, 0));
    MLXN_TRY(evaluator.append_each(0, part, [&](uint64_t i, std::span<const float> logits) {
      if (i >= context / 2 && i + 1 < context)
        score.add(negative_log_likelihood(logits, wanted[i + 1]));
    }));
    progress.clear();
    std::printf("[%llu] %.4f\n", static_cast<unsigned long long>(chunk + 1), score.perplexity());
    std::fflush(stdout);
    progress.show("perplexity", chunk + 1, chunks);
  }
  return score;
}

}  // namespace

void add_perplexity(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "perplexity",
      "How well a model predicts a text: exp of the mean of -log p over the second half of\n"
      "every chunk of -c tokens (default 512); chunks do not overlap and know nothing of each "
      "other.");
  command->footer(
      "The last line is 'PPL = value +/- error', the error being one standard deviation.\n"
      "Exit status: 0 done, 1 the model or the text cannot be used.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  add_compute_options(*command, options->model);
  add_evaluator_options(*command, options->model, "512");
  command->add_option("-f,--file", options->file, "the text")->required();
  command->add_option("--chunks", options->chunks, "look at no more than so many chunks");
  command->callback([&run, options] {
    run = [options] {
      const Result<Score> score = measure(*options);
      if (!score) return fail("perplexity", score.error());
      std::printf("PPL = %.4f +/- %.5f\n", score->perplexity(), score->error());
      if (std::isfinite(score->perplexity())) return kGood;
      return fail("perplexity", Error(ErrorCode::kCorruptData,
                                      "the model's logits are not finite: its weights are damaged, "
                                      "or too large for the formats they are computed in"));
    };
  });
}

}  // namespace mlxn::cli
