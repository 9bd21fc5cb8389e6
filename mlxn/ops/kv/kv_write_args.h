// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Positions that lie together in a cache of keys; a capacity is a multiple of it.
MLXN_CONSTANT uint32_t kKvTile = 32;

struct KvWriteArgs {
  uint32_t sequences, heads, capacity, dim;
};
