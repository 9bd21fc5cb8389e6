// A conversation with a model, turn by turn.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mlxn/model/generator.h"
#include "mlxn/text/chat/chat_template.h"

namespace mlxn::model {

struct ChatOptions {
  // Of these, 0 positions mean what the model was trained for, but at most 8192.
  EvaluatorOptions evaluator = {};
  std::string system = {};  // message in front of all others; empty: none
  bool raw = false;         // without the model's chat template: one text that goes on and on
};

// Messages and answers, with what was evaluated of them. One user at a time.
class Chat {
 public:
  // kUnsupported when the model has no chat template, or one that is not known here.
  static Result<Chat> create(std::shared_ptr<const Model> model,
                             std::shared_ptr<const text::Tokenizer> tokenizer,
                             const ChatOptions& options = {});

  // Answers one message; both become part of the chat. An answer that was cancelled is part of it
  // as far as it came. A turn that fails, such as one that does not fit into the context
  // (kOutOfRange), leaves the chat as it was.
  Result<Generated> answer(const std::string& message, const GenerateOptions& options = {},
                           const GenerateEvents& events = {});

  const std::vector<text::ChatMessage>& messages() const { return messages_; }  // empty when raw
  const std::string& text() const { return text_; }                             // when raw
  const Evaluator& evaluator() const { return evaluator_; }

 private:
  Chat(std::shared_ptr<const text::Tokenizer> tokenizer, Evaluator evaluator);
  Result<std::vector<int32_t>> encode(const std::vector<text::ChatMessage>& messages) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Evaluator evaluator_;
  std::unique_ptr<const text::ChatTemplate> template_;  // null: raw
  std::vector<text::ChatMessage> messages_;
  std::string text_;
};

}  // namespace mlxn::model
