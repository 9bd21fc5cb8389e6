// Shared by host and kernel.
#pragma once

#include "mlxn/ops/attention/sdpa_args.h"
#include "mlxn/ops/turboquant/tq_args.h"

struct TqAttentionArgs {
  SdpaArgs sdpa;  // keys are rows of the cache; the window is in has()
  uint32_t capacity, bits, ring_start;
  uint32_t hidden;  // of the oldest keys
  float scale_factor;
};
