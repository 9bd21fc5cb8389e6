#pragma once

#include <cstdint>
#include <optional>

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class SdpaLayout {
  kHeadsFirst,     // [batch, heads, rows, dim]
  kSequenceFirst,  // [batch, rows, heads, dim]
};

// Attention over plain tensors. Written for heads first; see the layouts.
struct SdpaParams {
  const Buffer& queries;  // f32, f16 or bf16 [batch, heads, rows, dim], dim at most 576
  const Buffer& keys;     // f32, f16 or bf16 [batch, kv_heads, capacity, dim]
  const Buffer& values;   // as the keys, [batch, kv_heads, capacity, value_dim], at most 576
  const Buffer& output;   // f32, f16 or bf16 [batch, heads, rows, value_dim]
  uint64_t length = 0;    // keys that there are; 0: the capacity
  SdpaLayout query_layout = SdpaLayout::kHeadsFirst;  // of queries and output
  SdpaLayout key_layout = SdpaLayout::kHeadsFirst;    // of keys and values
  float scale = 0;                                    // of the scores; 0: 1 / sqrt(dim)
  float soft_cap = 0;   // scores become cap * tanh(score / cap); 0: no cap
  bool causal = false;  // a query sees no key behind its own position
  uint64_t window = 0;  // a query sees this many keys up to its own position; 0: all
  std::optional<uint64_t> offset = {};  // position of the first query; else they are the last keys
  const Buffer* mask = nullptr;    // f32, f16 or bf16, added to scores, or bool, true for what is
                                   // seen: [rows, length] or [batch, heads, rows, length]
  const Buffer* slopes = nullptr;  // f32 [heads]: slope * distance is taken off a score
  const Buffer* sinks = nullptr;   // f32 [heads]: a score more, without a value
  const Buffer* blocks = nullptr;  // u8, what attention_blocks makes of a mask [rows, length]
};

// output = softmax(scale * q k^T + mask) v. Heads are a multiple of kv_heads and share them in
// order. Computed in float and rounded once. A query that sees nothing gives zeros; keys past
// `length` are not read, and neither they nor what is masked have any influence. Results have the
// same bits with and without blocks, and a query the same ones alone and among others, as long as
// it is not the only one of its call. kDtypeMismatch, kShapeMismatch, kOutOfRange and
// kInvalidArgument for wrong arguments.
Status sdpa(ComputeEncoder& encoder, const SdpaParams& params);

}  // namespace mlxn
