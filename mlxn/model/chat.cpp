#include "mlxn/model/chat.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "mlxn/text/chat/chat_prompt.h"

namespace mlxn::model {
namespace {

constexpr uint64_t kUsualContext = 8192;

Result<std::unique_ptr<const text::ChatTemplate>> load_template(const io::Metadata& metadata) {
  if (!metadata.has("tokenizer.chat_template")) {
    return Error(ErrorCode::kUnsupported,
                 "the model has no chat template, expected one unless a raw text is continued");
  }
  MLXN_ASSIGN(const std::string source, metadata.text("tokenizer.chat_template"));
  MLXN_ASSIGN(text::ChatTemplate parsed, text::ChatTemplate::parse(source));
  return std::make_unique<const text::ChatTemplate>(std::move(parsed));
}

}  // namespace

Chat::Chat(std::shared_ptr<const text::Tokenizer> tokenizer, Evaluator evaluator)
    : tokenizer_(std::move(tokenizer)), evaluator_(std::move(evaluator)) {}

Result<Chat> Chat::create(std::shared_ptr<const Model> model,
                          std::shared_ptr<const text::Tokenizer> tokenizer,
                          const ChatOptions& options) {
  EvaluatorOptions settings = options.evaluator;
  if (settings.context == 0) settings.context = std::min(model->shape().context, kUsualContext);
  MLXN_ASSIGN(Evaluator evaluator, Evaluator::create(std::move(model), settings));
  Chat chat(std::move(tokenizer), std::move(evaluator));
  if (!options.raw) {
    MLXN_ASSIGN(chat.template_, load_template(chat.evaluator_.model().metadata()));
    if (!options.system.empty()) chat.messages_.push_back({"system", options.system});
  }
  return chat;
}

Result<Generated> Chat::answer(const std::string& message, const GenerateOptions& options,
                               const GenerateEvents& events) {
  std::vector<text::ChatMessage> messages = messages_;
  std::string text = text_;
  std::vector<int32_t> prompt;
  if (template_) {
    messages.push_back({"user", message});
    MLXN_ASSIGN(prompt, encode(messages));
  } else {
    text += message;
    MLXN_ASSIGN(prompt, tokenizer_->encode(text));
  }
  MLXN_ASSIGN(Generated result, generate(evaluator_, *tokenizer_, 0, prompt, options, events));
  if (template_) {
    messages.push_back({"assistant", result.text});
  } else {
    text += result.text;
  }
  messages_ = std::move(messages);
  text_ = std::move(text);
  return result;
}

Result<std::vector<int32_t>> Chat::encode(const std::vector<text::ChatMessage>& messages) const {
  auto piece = [&](const std::optional<int32_t>& id) {
    return id ? std::string(tokenizer_->piece(*id)) : std::string();
  };
  const text::ChatInput input = {.messages = messages,
                                 .add_generation_prompt = true,
                                 .bos_token = piece(tokenizer_->special().bos),
                                 .eos_token = piece(tokenizer_->special().eos),
                                 .now = std::time(nullptr)};
  return text::encode_chat(*tokenizer_, *template_, input);
}

}  // namespace mlxn::model
