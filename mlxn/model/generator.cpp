#include "mlxn/model/generator.h"

#include <algorithm>

#include "mlxn/base/clock.h"
#include "mlxn/base/strings.h"
#include "mlxn/text/stop_strings.h"
#include "mlxn/text/utf8.h"

namespace mlxn::model {
namespace {

// Bytes of tokens on their way to the reader: stop strings first, then whole code points.
class Output {
 public:
  Output(text::StopStrings stop, const GenerateEvents& events, std::string& text)
      : stop_(std::move(stop)), events_(events), text_(text) {}

  // False when a stop string is complete.
  bool push(std::string_view bytes) {
    const text::StopStrings::Step step = stop_.push(bytes);
    show(utf8_.push(step.text));
    return !step.stopped;
  }
  void finish() {
    show(utf8_.push(stop_.finish()));
    show(utf8_.finish());
  }

 private:
  void show(const std::string& part) {
    if (part.empty()) return;
    text_ += part;
    if (events_.text) events_.text(part);
  }

  text::StopStrings stop_;
  text::Utf8Stream utf8_;
  const GenerateEvents& events_;
  std::string& text_;
};

}  // namespace

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kEndToken: return "end of text";
    case StopReason::kStopString: return "stop string";
    case StopReason::kMaxTokens: return "most tokens reached";
    case StopReason::kContextFull: return "context full";
    default: return "cancelled";
  }
}

Result<Generated> generate(Evaluator& evaluator, const text::Tokenizer& tokenizer,
                           uint32_t sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const GenerateEvents& events) {
  MLXN_ASSIGN(text::Sampler sampler, text::Sampler::create(options.sampler));
  MLXN_ASSIGN(text::StopStrings stop, text::StopStrings::create(options.stop));
  Generated result;
  Output output(std::move(stop), events, result.text);

  uint64_t start = now_ns();
  result.prompt_tokens = prompt.size();
  const uint64_t context = evaluator.options().context;
  if (prompt.empty() || prompt.size() > context) {
    return Error(ErrorCode::kOutOfRange,
                 str("a prompt of ", prompt.size(), " tokens, expected 1 to ", context,
                     ", the size of the context"));
  }
  result.reused_tokens = evaluator.keep_prefix(sequence, prompt);
  AppendEvents reading = {.cancelled = events.cancelled};
  if (events.prompt) {
    reading.progress = [&](uint64_t done, uint64_t) {
      events.prompt(result.reused_tokens + done, prompt.size());
    };
  }
  const auto read = evaluator.append(sequence, prompt.subspan(result.reused_tokens), reading);
  if (!read && read.error().code() == ErrorCode::kCancelled) {
    result.reason = StopReason::kCancelled;
    return result;
  }
  MLXN_ASSIGN(std::span<const float> logits, read);
  for (int32_t token : prompt) sampler.accept(token);
  result.prompt_ns = now_ns() - start;

  start = now_ns();
  const uint64_t room = context - prompt.size();
  const uint64_t most = options.max_tokens ? std::min(options.max_tokens, room) : room;
  result.reason = most == room && most != options.max_tokens ? StopReason::kContextFull
                                                             : StopReason::kMaxTokens;
  while (result.tokens.size() < most) {
    if (events.cancelled && events.cancelled()) {
      result.reason = StopReason::kCancelled;
      break;
    }
    MLXN_ASSIGN(const int32_t token, sampler.sample(logits));
    sampler.accept(token);
    if (tokenizer.ends_text(token) && !options.ignore_end) {
      result.reason = StopReason::kEndToken;
      break;
    }
    result.tokens.push_back(token);
    MLXN_ASSIGN(const std::string bytes,
                tokenizer.decode(std::span(&token, 1),
                                 {.show_special = options.show_special, .continues = true}));
    if (!output.push(bytes)) {
      result.reason = StopReason::kStopString;
      break;
    }
    if (result.tokens.size() == most) break;  // nobody needs what comes behind it
    MLXN_ASSIGN(logits, evaluator.append(sequence, std::span(&token, 1)));
    ++result.answer_passes;
  }
  output.finish();
  result.answer_ns = now_ns() - start;
  return result;
}

}  // namespace mlxn::model
