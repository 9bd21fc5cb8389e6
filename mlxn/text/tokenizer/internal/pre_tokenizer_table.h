// The pre-tokenizers of known model families.
#pragma once

#include <span>

#include "mlxn/text/tokenizer/internal/pre_tokenizer.h"

namespace mlxn::text {

std::span<const PreTokenizerInfo> pre_tokenizers();

}  // namespace mlxn::text
