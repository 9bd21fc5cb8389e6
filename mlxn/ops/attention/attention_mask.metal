// attention_mask_{f32,f16,bf16,bool}: 0 or true for a key that the query of a row sees, -infinity
// or false for another. Buffers: 0 mask [queries, keys], 1 AttentionMaskArgs. Grid: a thread for
// each cell, (keys, queries); any threadgroup.
#include "mlxn/ops/attention/attention_mask_args.h"
#include "mlxn/ops/common/kernel.h"

inline bool sees(constant AttentionMaskArgs& args, uint2 cell) {
  const ulong key = cell.x, position = args.offset + cell.y;
  const bool ahead = key > position;
  const bool behind = args.window != 0 && !ahead && position - key >= args.window;
  return !behind && !(ahead && args.causal != 0);
}

template <typename T>
[[kernel]] void attention_mask(device T* mask [[buffer(0)]],
                               constant AttentionMaskArgs& args [[buffer(1)]],
                               uint2 cell [[thread_position_in_grid]]) {
  mask[static_cast<ulong>(cell.y) * args.columns + cell.x] =
      static_cast<T>(sees(args, cell) ? 0.0f : -INFINITY);
}

[[kernel]] void attention_mask_bool(device uchar* mask [[buffer(0)]],
                                    constant AttentionMaskArgs& args [[buffer(1)]],
                                    uint2 cell [[thread_position_in_grid]]) {
  mask[static_cast<ulong>(cell.y) * args.columns + cell.x] = sees(args, cell) ? 1 : 0;
}

MLXN_KERNEL("attention_mask_f32", attention_mask, float);
MLXN_KERNEL("attention_mask_f16", attention_mask, half);
MLXN_KERNEL("attention_mask_bf16", attention_mask, bfloat);
