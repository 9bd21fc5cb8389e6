// mlxn run: one answer, or a chat.
#include <csignal>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/strings.h"
#include "mlxn/model/generator.h"
#include "mlxn/text/chat_template.h"

namespace mlxn::cli {
namespace {

struct Options {
  ModelOptions model;
  model::GenerateOptions generate;
  std::string prompt, system;
  bool raw = false, interactive = false, show_stats = true;
};

// Set by Ctrl-C: ends the answer, not the program. While nothing is answered it ends the chat.
volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) {
  interrupted = 1;
}

class InterruptGuard {
 public:
  InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;  // without SA_RESTART: a waiting read returns
    sigaction(SIGINT, &action, &old_);
  }
  ~InterruptGuard() { sigaction(SIGINT, &old_, nullptr); }

 private:
  struct sigaction old_ = {};
};

class Chat {
 public:
  static Result<Chat> create(const Options& options) {
    Chat chat(options);
    MLXN_ASSIGN(chat.loaded_, load_model(options.model));
    MLXN_ASSIGN(model::EvaluatorOptions settings, evaluator_options(options.model));
    if (settings.context == 0)
      settings.context = std::min<uint64_t>(chat.loaded_.model->shape().context, kUsualContext);
    MLXN_ASSIGN(model::Evaluator evaluator, model::Evaluator::create(chat.loaded_.model, settings));
    chat.evaluator_ = std::make_unique<model::Evaluator>(std::move(evaluator));
    if (!options.raw) MLXN_TRY(chat.load_template());
    if (!options.system.empty()) chat.messages_.push_back({"system", options.system});
    return chat;
  }

  // Answers one message; the answer becomes part of the chat.
  Status answer(const std::string& message) {
    MLXN_ASSIGN(const std::vector<int32_t> prompt, prompt_of(message));
    ProgressLine progress(!options_->model.quiet);
    interrupted = 0;
    const model::GenerateEvents events = {
        .text =
            [&](std::string_view part) {
              progress.clear();
              std::fwrite(part.data(), 1, part.size(), stdout);
              std::fflush(stdout);
            },
        .prompt = [&](uint64_t done, uint64_t total) { progress.show("prompt", done, total); },
        .cancelled = [] { return interrupted != 0; }};
    MLXN_ASSIGN(const model::Generated result, model::generate(*evaluator_, *loaded_.tokenizer, 0,
                                                               prompt, options_->generate, events));
    std::printf("\n");
    std::fflush(stdout);
    if (template_)
      messages_.push_back({"assistant", result.text});
    else
      raw_ += result.text;
    if (options_->show_stats) print_stats(result);
    return {};
  }

 private:
  static constexpr uint64_t kUsualContext = 8192;

  explicit Chat(const Options& options) : options_(&options) {}

  Status load_template() {
    const io::Metadata& metadata = loaded_.model->metadata();
    if (!metadata.has("tokenizer.chat_template")) {
      return Error(ErrorCode::kUnsupported,
                   "the model has no chat template; --raw continues a text without one");
    }
    MLXN_ASSIGN(const std::string source, metadata.text("tokenizer.chat_template"));
    MLXN_ASSIGN(text::ChatTemplate parsed, text::ChatTemplate::parse(source));
    template_ = std::make_unique<text::ChatTemplate>(std::move(parsed));
    return {};
  }

  Result<std::vector<int32_t>> prompt_of(const std::string& message) {
    const text::Tokenizer& tokenizer = *loaded_.tokenizer;
    if (!template_) {
      raw_ += message;
      return tokenizer.encode(raw_);
    }
    messages_.push_back({"user", message});
    auto piece = [&](const std::optional<int32_t>& id) {
      return id ? std::string(tokenizer.piece(*id)) : std::string();
    };
    const text::ChatInput input = {.messages = messages_,
                                   .add_generation_prompt = true,
                                   .bos_token = piece(tokenizer.special().bos),
                                   .eos_token = piece(tokenizer.special().eos),
                                   .now = std::time(nullptr)};
    MLXN_ASSIGN(const std::string rendered, template_->render(input));
    // The template writes the tokens that begin and end parts.
    return tokenizer.encode(rendered, {.add_special = false, .parse_special = true});
  }

  static void print_stats(const model::Generated& result) {
    auto rate = [](uint64_t tokens, uint64_t ns) {
      return ns ? static_cast<double>(tokens) * 1e9 / static_cast<double>(ns) : 0.0;
    };
    const uint64_t read = result.prompt_tokens - result.reused_tokens;
    std::fprintf(
        stderr, "[prompt %llu tokens (%llu reused), %.1f t/s; answer %zu tokens, %.1f t/s; %s]\n",
        static_cast<unsigned long long>(result.prompt_tokens),
        static_cast<unsigned long long>(result.reused_tokens), rate(read, result.prompt_ns),
        result.tokens.size(), rate(result.answer_passes, result.answer_ns),
        std::string(to_string(result.reason)).c_str());
  }

  const Options* options_;
  LoadedModel loaded_;
  std::unique_ptr<model::Evaluator> evaluator_;
  std::unique_ptr<text::ChatTemplate> template_;
  std::vector<text::ChatMessage> messages_;
  std::string raw_;  // all of the text, where there is no template
};

Status converse(Chat& chat) {
  std::fprintf(stderr, "An empty line or Ctrl-D ends the chat; Ctrl-C ends an answer.\n");
  for (;;) {
    std::fprintf(stderr, "> ");
    interrupted = 0;
    std::string line;
    if (!std::getline(std::cin, line) || line.empty()) {
      std::fprintf(stderr, "\n");
      return {};
    }
    MLXN_TRY(chat.answer(line));
  }
}

Status run_model(const Options& options) {
  MLXN_ASSIGN(Chat chat, Chat::create(options));
  const InterruptGuard guard;
  if (!options.prompt.empty()) MLXN_TRY(chat.answer(options.prompt));
  if (options.interactive || options.prompt.empty()) return converse(chat);
  return {};
}

void add_sampling_options(CLI::App& command, Options& options) {
  text::SamplerOptions& sampler = options.generate.sampler;
  const std::string group = "Sampling, in this order: penalty, top-k, top-p, min-p, temperature";
  command.add_option("--temp", sampler.temperature, "0: always the likeliest token (default 0.8)")
      ->group(group);
  command.add_option("--top-k", sampler.top_k, "the k likeliest tokens; 0: all (default 40)")
      ->group(group);
  command.add_option("--top-p", sampler.top_p, "the fewest tokens that reach p (default 0.95)")
      ->group(group);
  command.add_option("--min-p", sampler.min_p, "at least p times the likeliest (default 0.05)")
      ->group(group);
  command.add_option("--repeat-penalty", sampler.repeat_penalty, "above 1: fewer repetitions")
      ->group(group);
  command.add_option("--repeat-last-n", sampler.repeat_last_n, "tokens it looks back (default 64)")
      ->group(group);
  command.add_option("-s,--seed", sampler.seed, "same seed, same answer (default 0)")->group(group);
}

}  // namespace

void add_run(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "run",
      "Answers a prompt, or chats when there is none. The answer goes to standard output as it\n"
      "comes, everything else to standard error.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  command->add_option("PROMPT,-p,--prompt", options->prompt, "what to answer");
  command->add_option("-n,--tokens", options->generate.max_tokens,
                      "most tokens of an answer (default: as many as fit)");
  command->add_option("--system", options->system, "system message in front of the chat");
  command->add_option("--stop", options->generate.stop, "a string that ends an answer; repeatable")
      ->allow_extra_args(false);
  command->add_flag("-i,--interactive", options->interactive, "go on chatting after the prompt");
  command->add_flag("--raw", options->raw, "continue the text, without the model's chat template");
  command->add_flag("!--no-stats", options->show_stats, "no line with times behind an answer");
  command->add_flag("-q,--quiet", options->model.quiet, "no progress");
  add_thread_option(*command, options->model);
  add_evaluator_options(*command, options->model, "as trained, at most 8192");
  add_sampling_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  mlxn run -m model.gguf \"What is the capital of France?\"\n"
      "  mlxn run -m model.gguf --temp 0 -n 64 --raw \"Once upon a time\"\n"
      "  mlxn run -m model.gguf                      # chat\n"
      "Exit status: 0 done, 1 the model cannot be used.");
  command->callback([&run, options] {
    run = [options] {
      const Status status = run_model(*options);
      return status ? kGood : fail("run", status.error());
    };
  });
}

}  // namespace mlxn::cli
