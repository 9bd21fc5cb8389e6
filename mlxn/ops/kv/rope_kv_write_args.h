// Shared by host and kernel.
#pragma once

#include "mlxn/ops/kv/kv_write_args.h"

struct RopeKvWriteArgs {
  KvWriteArgs cache;
  uint32_t pairs;  // that turn: half the rotary dimensions
};
