#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

// Which head of queries and keys belongs to head h of values.
enum class DeltaHeads {
  kTiled,   // h mod key_heads, as in GGUF
  kBlocks,  // h / (heads / key_heads)
};
// What the gate is.
enum class DeltaGate {
  kDecay,     // the state decays by exp(-gate), as gate_beta gives it
  kLogDecay,  // by exp(gate)
};

struct DeltaNetParams {
  const Buffer& queries;    // [sequences, tokens, key_heads, key_dim], f32 or bf16
  const Buffer& keys;       // as the queries; key_dim at most 256
  const Buffer& values;     // [sequences, tokens, heads, value_dim]; heads a multiple of key_heads
  const Buffer& gate;       // f32 [sequences, tokens, heads]
  const Buffer& beta;       // f32 [sequences, tokens, heads]
  const Buffer& state;      // f32 [sequences, heads, value_dim, key_dim]
  const Buffer& output;     // as the values
  const Buffer& new_state;  // as the state; may be it
  DeltaHeads head_map = DeltaHeads::kTiled;
  DeltaGate gate_kind = DeltaGate::kDecay;
  float scale = 1;         // of the queries, finite
  bool normalise = false;  // queries and keys by sqrt(their sum of squares + 1e-6)
};

// The gated delta rule, token by token: S = decay * S; d = v - S k; S = S + beta * d k^T;
// output = S q, for every head. Computed in float, the output rounded once. kDtypeMismatch,
// kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status delta_net(ComputeEncoder& encoder, const DeltaNetParams& params);

}  // namespace mlxn
