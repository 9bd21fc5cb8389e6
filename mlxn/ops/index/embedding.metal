// embedding_{format}: output[t] = table[ids[t]] as float times a scale; zeros or the last row for
// an id past the table. Buffers: 0 table [rows, dim] in the format, 1 ids [tokens], 2 output
// [tokens, dim], 3 EmbeddingArgs. Grid: a thread for each element, (dim, tokens); any threadgroup.
#include "mlxn/ops/common/weights.h"
#include "mlxn/ops/index/embedding_args.h"

template <typename W>
[[kernel]] void embedding(device const W* table [[buffer(0)]], device const uint* ids [[buffer(1)]],
                          device float* output [[buffer(2)]],
                          constant EmbeddingArgs& args [[buffer(3)]],
                          uint2 position [[thread_position_in_grid]]) {
  ulong id = ids[position.y];
  if (args.clamp == 1) id = min(id, args.rows - 1);
  float value = 0;
  if (id < args.rows) value = Format<W>::element(Format<W>::row(table, id, args.dim), position.x);
  output[static_cast<ulong>(position.y) * args.dim + position.x] = value * args.scale;
}

#define MLXN_ENTRY(format, type, ...) MLXN_KERNEL("embedding_" #format, embedding, type);
MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY)
