// The prompt of a chat: messages, through a template, to tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "mlxn/base/result.h"
#include "mlxn/text/chat/chat_template.h"
#include "mlxn/text/tokenizer/tokenizer.h"

namespace mlxn::text {

// Control tokens come from the template alone: one that a message spells out stays text, so that
// nobody can end a turn, or begin another one's, by writing it.
Result<std::vector<int32_t>> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const ChatInput& input);

}  // namespace mlxn::text
