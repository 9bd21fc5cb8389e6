// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kDeltaMostKeyDim = 256;
MLXN_CONSTANT uint32_t kDeltaLongKeyDim = 192;  // of states in threadgroup memory
MLXN_CONSTANT uint32_t kDeltaRows = 4;          // of a state that a simdgroup works on together
MLXN_CONSTANT uint32_t kDeltaMostChunk = 64;

struct DeltaNetArgs {
  uint32_t sequences, tokens;
  uint32_t key_heads, key_dim;
  uint32_t heads, value_dim;
  uint32_t tiled;      // 1: head h has key head h mod key_heads, 0: h / (heads / key_heads)
  uint32_t normalise;  // queries and keys to length 1
  float gate_sign;     // logarithm of the decay = gate_sign * gate
  float scale;         // of queries
  uint32_t chunk, chunks;
};
