// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Elements from one token to the next in the cache, and from one head to the next.
struct KvCopyPlace {
  uint64_t token, head;
  uint32_t dim;
};

struct KvCopyArgs {
  KvCopyPlace key, value;
  uint32_t heads, capacity;
  uint32_t first_token;  // of the source
  uint32_t first_row;    // of the cache; behind the last one comes row 0
};
