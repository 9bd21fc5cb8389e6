// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Keys that are scored together, and query rows of a tile of a block map.
MLXN_CONSTANT uint32_t kSdpaKeys = 32, kSdpaRows = 32;
// Threads of a threadgroup: four simdgroups.
MLXN_CONSTANT uint32_t kSdpaSimdgroups = 4, kSdpaThreads = 128;

// Elements from one to the next.
struct SdpaStrides {
  uint64_t batch, head, row;
};

// How numbers are stored: 0 f32, 1 f16, 2 bf16; masks also 3 bool, 4: there is none.
struct SdpaArgs {
  SdpaStrides query, key, value, output, mask;
  uint64_t offset;                          // position of the first query
  uint64_t window;                          // keys that a query sees up to its own position; 0: all
  uint32_t queries, keys, kv_heads, share;  // share: query heads for each head of keys
  uint32_t dim, value_dim;
  uint32_t causal, has_slopes, has_sinks, has_blocks;
  uint32_t query_type, output_type, mask_type;
  float scale, soft_cap;
};
