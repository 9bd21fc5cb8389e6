// mlxn run: one answer, or a chat.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>

#include "apps/mlxn/commands.h"
#include "apps/mlxn/model_options.h"
#include "mlxn/base/printable.h"
#include "mlxn/base/strings.h"
#include "mlxn/model/chat.h"

namespace mlxn::cli {
namespace {

struct Options {
  ModelOptions model;
  model::GenerateOptions generate;
  std::string prompt, system;
  bool has_prompt = false;  // else there is a chat
  bool raw = false, interactive = false, show_stats = true;
};

// Ctrl-C ends the answer, not the program; a second one before that has happened ends the program.
// While nothing is answered it ends the chat. There is one such object: signals have no other way
// to find it.
class Interrupts {
 public:
  Interrupts() {
    if (::pipe(pipe_) != 0) return;  // then it ends the program, as without us
    for (int end : pipe_) ::fcntl(end, F_SETFL, O_NONBLOCK);
    struct sigaction action = {};
    action.sa_handler = [](int) {
      if (pending_) {  // the first one has not been heard: end the program
        ::signal(SIGINT, SIG_DFL);
        ::raise(SIGINT);
      }
      pending_ = 1;
      // Whichever thread the signal came to: who waits for input is woken.
      [[maybe_unused]] const ssize_t written = ::write(pipe_[1], "", 1);
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, &old_);
  }
  ~Interrupts() { ::sigaction(SIGINT, &old_, nullptr); }

  static bool pending() { return pending_ != 0; }
  static void forget() {
    pending_ = 0;
    for (char byte; ::read(pipe_[0], &byte, 1) == 1;) {
    }
  }

  // Waits for something to read from standard input; false when Ctrl-C comes first.
  static bool wait_for_input() {
    pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {pipe_[0], POLLIN, 0}};
    while (::poll(both, 2, -1) < 0 && errno == EINTR) {
    }
    return !pending();
  }

 private:
  static inline volatile std::sig_atomic_t pending_ = 0;
  static inline int pipe_[2] = {-1, -1};
  struct sigaction old_ = {};
};

// Lines of standard input, until it ends or Ctrl-C comes.
class LineReader {
 public:
  bool next(std::string& line) {
    size_t end;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      if (!Interrupts::wait_for_input()) return false;
      char part[4096];
      const ssize_t size = ::read(STDIN_FILENO, part, sizeof(part));
      if (size <= 0) break;
      buffer_.append(part, static_cast<size_t>(size));
    }
    line = buffer_.substr(0, end);
    buffer_.erase(0, end == std::string::npos ? end : end + 1);
    return !line.empty();
  }

 private:
  std::string buffer_;
};

Result<model::Chat> open_chat(const Options& options) {
  MLXN_ASSIGN(auto model, load_model(options.model));
  MLXN_ASSIGN(auto tokenizer, load_tokenizer(options.model, *model));
  MLXN_ASSIGN(const model::EvaluatorOptions evaluator, evaluator_options(options.model));
  return model::Chat::create(
      std::move(model), std::move(tokenizer),
      {.evaluator = evaluator, .system = options.system, .raw = options.raw});
}

void print_stats(const model::Generated& result) {
  auto rate = [](uint64_t tokens, uint64_t ns) {
    return ns ? static_cast<double>(tokens) * 1e9 / static_cast<double>(ns) : 0.0;
  };
  const uint64_t read = result.prompt_tokens - result.reused_tokens;
  std::fprintf(stderr,
               "[prompt %llu tokens (%llu reused), %.1f t/s; answer %zu tokens, %.1f t/s; %s]\n",
               static_cast<unsigned long long>(result.prompt_tokens),
               static_cast<unsigned long long>(result.reused_tokens), rate(read, result.prompt_ns),
               result.tokens.size(), rate(result.answer_passes, result.answer_ns),
               std::string(to_string(result.reason)).c_str());
}

// Answers one message on the terminal.
Result<model::StopReason> answer(model::Chat& chat, const Options& options,
                                 const std::string& message) {
  ProgressLine progress(!options.model.quiet);
  const bool to_terminal = ::isatty(STDOUT_FILENO);
  const model::GenerateEvents events = {
      .text =
          [&](std::string_view part) {
            progress.clear();
            const std::string shown = to_terminal ? printable(part) : std::string(part);
            std::fwrite(shown.data(), 1, shown.size(), stdout);
            std::fflush(stdout);
          },
      .prompt = [&](uint64_t done, uint64_t total) { progress.show("prompt", done, total); },
      .cancelled = [] { return Interrupts::pending(); }};
  MLXN_ASSIGN(const model::Generated result, chat.answer(message, options.generate, events));
  std::printf("\n");
  std::fflush(stdout);
  Interrupts::forget();  // it has ended this answer
  if (options.show_stats) print_stats(result);
  return result.reason;
}

Status converse(model::Chat& chat, const Options& options) {
  std::fprintf(stderr, "An empty line or Ctrl-D ends the chat; Ctrl-C ends an answer.\n> ");
  LineReader reader;
  for (std::string line; reader.next(line); std::fprintf(stderr, "> ")) {
    auto reason = answer(chat, options, line);
    if (reason) continue;
    // A turn that does not fit is refused; a shorter one may.
    if (reason.error().code() != ErrorCode::kOutOfRange) return std::move(reason).error();
    fail("run", reason.error());
  }
  std::fprintf(stderr, "\n");
  return {};
}

// The exit status.
Result<int> run_model(const Options& options) {
  MLXN_TRY(text::Sampler::create(options.generate.sampler));  // before the model is loaded
  MLXN_ASSIGN(model::Chat chat, open_chat(options));
  const Interrupts interrupts;
  model::StopReason reason = model::StopReason::kEndToken;
  if (options.has_prompt) {
    MLXN_ASSIGN(reason, answer(chat, options, options.prompt));
  }
  if (options.interactive || !options.has_prompt) {
    MLXN_TRY(converse(chat, options));
    return kGood;
  }
  return reason == model::StopReason::kCancelled ? kInterrupted : kGood;
}

// A whole number that 64 bits hold; CLI11 alone would cut larger ones without a word.
CLI::Validator whole_number(uint64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool good =
            error == std::errc() && end == text.data() + text.size() && value >= least;
        return good ? std::string()
                    : str("'", text, "', expected a whole number from ", least, " to ", UINT64_MAX);
      },
      "");
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
  command.add_option("-s,--seed", sampler.seed, "same seed, same answer (default 0)")
      ->check(whole_number(0))
      ->group(group);
}

}  // namespace

void add_run(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "run",
      "Answers a prompt, or chats when there is none. The answer goes to standard output as it\n"
      "comes, everything else to standard error.");
  auto options = std::make_shared<Options>();
  add_model_option(*command, options->model);
  auto* prompt = command->add_option("PROMPT,-p,--prompt", options->prompt, "what to answer");
  command
      ->add_option("-n,--tokens", options->generate.max_tokens,
                   "most tokens of an answer (default: as many as fit)")
      ->check(whole_number(1));
  command->add_option("--system", options->system, "system message in front of the chat");
  command->add_option("--stop", options->generate.stop, "a string that ends an answer; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--ignore-end", options->generate.ignore_end,
                    "go on behind tokens that end a text, up to -n or the context's end");
  command->add_flag("-i,--interactive", options->interactive, "go on chatting after the prompt");
  command->add_flag("--raw", options->raw, "continue the text, without the model's chat template");
  command->add_flag("!--no-stats", options->show_stats, "no line with times behind an answer");
  command->add_flag("-q,--quiet", options->model.quiet, "no progress");
  add_compute_options(*command, options->model);
  add_evaluator_options(*command, options->model, "as trained, at most 8192");
  add_sampling_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  mlxn run -m model.gguf \"What is the capital of Japan?\"\n"
      "  mlxn run -m model.gguf --temp 0 -n 64 --raw \"Once upon a time\"\n"
      "  mlxn run -m model.gguf                      # chat\n"
      "Exit status: 0 done, 1 the model cannot be used, 130 the answer was interrupted.");
  command->callback([&run, options, prompt] {
    options->has_prompt = prompt->count() > 0;
    if (options->has_prompt && options->prompt.empty())
      throw CLI::ValidationError("PROMPT", "is empty; without one there is a chat");
    run = [options] {
      const Result<int> status = run_model(*options);
      return status ? *status : fail("run", status.error());
    };
  });
}

}  // namespace mlxn::cli
