// MSL: rows of queries, keys, values and gates of the delta net.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/ssm/delta_net_args.h"

inline uint key_head(uint head, constant DeltaNetArgs& args) {
  return args.tiled != 0 ? head % args.key_heads : head / (args.heads / args.key_heads);
}
// [sequences, tokens, key_heads, key_dim]
inline ulong key_row(uint sequence, uint token, uint key, constant DeltaNetArgs& args) {
  return ((static_cast<ulong>(sequence) * args.tokens + token) * args.key_heads + key) *
         args.key_dim;
}
// [sequences, tokens, heads]
inline ulong gate_at(uint sequence, uint token, uint head, constant DeltaNetArgs& args) {
  return (static_cast<ulong>(sequence) * args.tokens + token) * args.heads + head;
}

// 1 / sqrt(sum of squares + 1e-6), or 1 where nothing is normalised. All lanes call.
template <typename T>
inline float inverse_length(device const T* row, constant DeltaNetArgs& args, uint lane) {
  if (args.normalise == 0) return 1;
  Accumulator squares = 0;
  for (uint i = lane; i < args.key_dim; i += 32) {
    squares += static_cast<float>(row[i]) * static_cast<float>(row[i]);
  }
  return 1.0f / sqrt(simd_sum(static_cast<float>(squares)) + 1e-6f);
}
