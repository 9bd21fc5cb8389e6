// Turns of a chat, on a small model that the test writes.
#include "mlxn/model/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlxn/core/device/open_device.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "tests/model/tiny_model.h"

namespace mlxn::model {
namespace {

using ::testing::HasSubstr;

// Every letter is a token; messages stand one behind the other, answers between 'i' and 'j'.
constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'assistant' %}i{{ m.content }}j"
    "{% else %}{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}i{% endif %}";

TinyModel talking_model() {
  TinyModel tiny;
  tiny.metadata["tokenizer.ggml.model"] = words("gpt2");
  tiny.metadata["tokenizer.ggml.pre"] = words("gpt-2");
  tiny.metadata["tokenizer.ggml.merges"] = {
      io::MetaType::kArray, io::MetaArray{io::MetaType::kString, std::vector<std::string>()}};
  tiny.metadata["tokenizer.chat_template"] = words(kTemplate);
  return tiny;
}

Result<Chat> open_chat(const TinyModel& tiny, const ChatOptions& options = {}) {
  const io::TempFolder folder;
  MLXN_ASSIGN(const Device device, open_device());
  MLXN_ASSIGN(const auto model, Model::load(device, tiny.write(folder)));
  MLXN_ASSIGN(auto tokenizer, text::Tokenizer::create(model->metadata()));
  return Chat::create(model, std::move(tokenizer), options);
}

GenerateOptions greedy(uint64_t tokens) {
  GenerateOptions options;
  options.sampler.temperature = 0;
  options.max_tokens = tokens;
  return options;
}

std::vector<std::string> contents(const Chat& chat) {
  std::vector<std::string> out;
  for (const text::ChatMessage& message : chat.messages())
    out.push_back(message.role + ":" + message.content);
  return out;
}

TEST(ModelFileChat, TurnsAddUpAndWhatIsKnownIsReused) {
  Result<Chat> chat = open_chat(talking_model(), {.system = "k"});
  ASSERT_TRUE(chat) << chat.error().to_string();
  const Result<Generated> first = chat->answer("abc", greedy(3));
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(first->prompt_tokens, 5u);  // k abc i
  EXPECT_EQ(first->reused_tokens, 0u);
  EXPECT_EQ(first->text.size(), 3u);
  const Result<Generated> second = chat->answer("d", greedy(1));
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(second->prompt_tokens, 11u);  // k abc i ... j d i
  EXPECT_EQ(second->reused_tokens, 7u);   // the last token of the answer was never evaluated
  EXPECT_EQ(contents(*chat),
            (std::vector<std::string>{"system:k", "user:abc", "assistant:" + first->text, "user:d",
                                      "assistant:" + second->text}));
}

TEST(ModelFileChat, ATurnThatDoesNotFitLeavesTheChatAsItWas) {
  Result<Chat> chat = open_chat(talking_model(), {.evaluator = {.context = 16}});
  ASSERT_TRUE(chat) << chat.error().to_string();
  ASSERT_TRUE(chat->answer("abc", greedy(2)));
  const std::vector<std::string> before = contents(*chat);
  const Result<Generated> refused = chat->answer("abcdefghabcdefgh", greedy(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfRange);
  EXPECT_THAT(refused.error().message(), HasSubstr("expected 1 to 16, the size of the context"));
  EXPECT_EQ(contents(*chat), before);
  EXPECT_TRUE(chat->answer("a", greedy(2)));  // a shorter one fits
}

TEST(ModelFileChat, ACancelledAnswerIsPartOfTheChatAsFarAsItCame) {
  Result<Chat> chat = open_chat(talking_model());
  ASSERT_TRUE(chat) << chat.error().to_string();
  std::string heard;
  const GenerateEvents events = {.text = [&](std::string_view part) { heard += part; },
                                 .cancelled = [&] { return heard.size() == 2; }};
  const Result<Generated> cancelled = chat->answer("abc", greedy(9), events);
  ASSERT_TRUE(cancelled) << cancelled.error().to_string();
  EXPECT_EQ(cancelled->reason, StopReason::kCancelled);
  EXPECT_EQ(heard.size(), 2u);
  EXPECT_EQ(contents(*chat), (std::vector<std::string>{"user:abc", "assistant:" + heard}));
}

TEST(ModelFileChat, WithoutATemplateTheTextGoesOn) {
  TinyModel tiny = talking_model();
  tiny.metadata.erase("tokenizer.chat_template");
  const Result<Chat> refused = open_chat(tiny);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("no chat template"));
  Result<Chat> chat = open_chat(tiny, {.raw = true});
  ASSERT_TRUE(chat) << chat.error().to_string();
  const Result<Generated> first = chat->answer("abc", greedy(2));
  const Result<Generated> second = chat->answer("d", greedy(2));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(chat->text(), "abc" + first->text + "d" + second->text);
  EXPECT_TRUE(chat->messages().empty());
}

TEST(ModelFileChat, AContextOfZeroIsTheUsualOne) {
  TinyModel tiny = talking_model();
  EXPECT_EQ(open_chat(tiny)->evaluator().options().context, 128u);
  tiny.metadata["llama.context_length"] = number(1 << 20);
  EXPECT_EQ(open_chat(tiny)->evaluator().options().context, 8192u);
}

TEST(ModelFileKernels, NoneIsCompiledOnceTheyAreReady) {
  const io::TempFolder folder;
  const Result<Device> device = open_device({.threads = 1});
  ASSERT_TRUE(device);
  const auto model = Model::load(*device, TinyModel().write(folder));
  ASSERT_TRUE(model) << model.error().to_string();
  uint64_t last = 0, total = 0;
  ASSERT_TRUE((*model)->prepare_kernels(Dtype::kF16, [&](uint64_t done, uint64_t of) {
    last = done;
    total = of;
  }));
  EXPECT_GT(total, 0u);
  EXPECT_EQ(last, total);
  const uint64_t made = device->kernels().stats().compiled;
  Result<Evaluator> evaluator = Evaluator::create(*model);
  ASSERT_TRUE(evaluator);
  ASSERT_TRUE(evaluator->append(0, std::vector<int32_t>{1}));
  ASSERT_TRUE(evaluator->append(0, std::vector<int32_t>(20, 2)));
  EXPECT_EQ(device->kernels().stats().compiled, made);
}

}  // namespace
}  // namespace mlxn::model
