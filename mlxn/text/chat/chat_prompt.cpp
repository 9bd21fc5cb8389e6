#include "mlxn/text/chat/chat_prompt.h"

#include <algorithm>
#include <functional>

namespace mlxn::text {
namespace {

// U+FDD0, a code point that no text is meant to have.
constexpr std::string_view kMarkUnit = "\xEF\xB7\x90";

using EachText = std::function<std::string(const std::string&)>;

// The value with every text in it replaced; names of dictionaries stay.
Value map_texts(const Value& value, const EachText& change) {
  if (const std::string* text = value.string()) return change(*text);
  if (const ValueList* list = value.list()) {
    ValueList out;
    for (const Value& item : *list) out.push_back(map_texts(item, change));
    return value.is_tuple() ? Value::tuple(std::move(out)) : Value(std::move(out));
  }
  if (const ValueDict* dict = value.dict()) {
    ValueDict out;
    for (const auto& [name, item] : *dict) out.emplace_back(name, map_texts(item, change));
    return out;
  }
  return value;
}

void map_texts(ChatInput& input, const EachText& change) {
  for (ChatMessage& message : input.messages) {
    message.content = change(message.content);
    for (auto& [name, value] : message.extra) value = map_texts(value, change);
  }
  for (auto& [name, value] : input.variables) value = map_texts(value, change);
}

// Longer than every run of the unit in the messages, so that it is found only where it was put.
std::string choose_mark(ChatInput input) {
  std::string mark(kMarkUnit);
  map_texts(input, [&](const std::string& text) {
    while (text.find(mark) != std::string::npos) mark += kMarkUnit;
    return std::string();
  });
  return mark;
}

}  // namespace

Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input) {
  const std::string mark = choose_mark(input);
  ChatInput marked = input;
  map_texts(marked, [&](const std::string& text) { return tokenizer.mark_control(text, mark); });
  MLXN_ASSIGN(const std::string rendered, chat.render(marked));
  // The template writes the tokens that begin and end parts.
  return tokenizer.encode(rendered, {.add_special = false, .parse_special = true, .mark = mark});
}

}  // namespace mlxn::text
