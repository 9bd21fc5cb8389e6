// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct AttentionArgs {
  uint32_t heads, dim;
  uint32_t sequences, kv_heads, capacity;  // of the cache
  uint32_t window;                         // 0: none
  float scale, soft_cap;                   // 0: no cap
};
