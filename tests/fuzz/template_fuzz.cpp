// Templates, rendered with a small conversation under tight limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mlxn/text/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxn::text;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const TemplateLimits limits = {
      .source_bytes = 1 << 16, .steps = 20000, .depth = 64, .output_bytes = 1 << 16};
  const auto parsed = ChatTemplate::parse(source, limits);
  if (!parsed) return 0;
  static const ChatInput* input = new ChatInput{
      .messages = {{"system", "be \"brief\"\n", {}},
                   {"user", "h\xC3\xA9llo <tag> \xFF", {}},
                   {"assistant",
                    "",
                    {{"tool_calls", ValueList{ValueDict{{"id", 7}, {"x", 1.5}}}}}}},
      .bos_token = "<s>",
      .eos_token = "</s>",
      .variables = {{"tools", ValueList{ValueDict{{"name", "f"}, {"n", Value()}}}}, {"yes", true}},
      .now = 1700000000};
  const auto text = parsed->render(*input);
  if (text && text->size() > limits.output_bytes) __builtin_trap();
  return 0;
}
