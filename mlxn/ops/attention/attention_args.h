// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Of a threadgroup, one for each position of a tile of the cache.
MLXN_CONSTANT uint32_t kAttentionThreads = 32;

struct AttentionArgs {
  uint32_t tokens, heads, dim;
  uint32_t rows;                           // of a threadgroup
  uint32_t sequences, kv_heads, capacity;  // of the cache
  uint32_t window;                         // 0: none
  uint32_t tile;                           // rows of a tile of rounded output; 0: floats
  float scale, soft_cap;                   // 0: no cap
};
