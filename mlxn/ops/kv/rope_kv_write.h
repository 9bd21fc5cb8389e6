#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/fusion.h"
#include "mlxn/ops/kv/kv_write.h"
#include "mlxn/ops/rope/rope.h"

namespace mlxn {

struct RopeKvWriteParams {
  KvWriteParams write;  // keys that are not turned yet
  const Buffer& table;  // of rope_table, for the tokens
  RopePairs pairs = RopePairs::kAdjacent;
};

// What rope of the keys and kv_write do together, with the same bits; the keys stay as they are.
// Errors are those of the two.
Status rope_kv_write(ComputeEncoder& encoder, const RopeKvWriteParams& params);

extern const FusionRule kRopeKvWriteRule;

}  // namespace mlxn
