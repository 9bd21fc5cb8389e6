// From prompt to answer: evaluation, sampling, and text that can be shown as it comes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/model/evaluator.h"
#include "mlxn/text/sampler.h"
#include "mlxn/text/tokenizer/tokenizer.h"

namespace mlxn::model {

struct GenerateOptions {
  text::SamplerOptions sampler;
  uint64_t max_tokens = 0;        // 0: until the context is full
  std::vector<std::string> stop;  // strings that end the answer and are not part of it
  bool ignore_end = false;        // goes on behind tokens that end a text
  bool show_special = false;      // control tokens have their text
};

enum class StopReason { kEndToken, kStopString, kMaxTokens, kContextFull, kCancelled };
std::string_view to_string(StopReason reason);  // "end of text", ...

struct Generated {
  std::string text;             // all of it, valid UTF-8
  std::vector<int32_t> tokens;  // without the end token
  StopReason reason = StopReason::kEndToken;
  uint64_t prompt_tokens = 0, reused_tokens = 0;
  uint64_t answer_passes = 0;  // behind the prompt's; often one less than tokens
  // Evaluation of the prompt, to its last token, and of the answer, on the host's clock.
  uint64_t prompt_ns = 0, answer_ns = 0;
};

// What a caller hears on the way. All may be empty.
struct GenerateEvents {
  std::function<void(std::string_view text)> text = {};  // the next part, whole code points
  std::function<void(uint64_t done, uint64_t total)> prompt = {};  // tokens of it
  std::function<bool()> cancelled = {};  // asked often; true ends the answer
};

// Makes `sequence` hold `prompt` (keeping what it has in common with it) and then the answer. The
// token that ended it is not part of the sequence. kOutOfRange when the context cannot hold the
// prompt; an answer that fills the context ends there.
Result<Generated> generate(Evaluator& evaluator, const text::Tokenizer& tokenizer,
                           uint32_t sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const GenerateEvents& events = {});

}  // namespace mlxn::model
