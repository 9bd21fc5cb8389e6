// rope_{adjacent,halves}_f32: turns pair i of each head by entry i of the token's row of a table.
// Buffers: 0 input [tokens, heads, dim], 1 table [tokens, pairs] of cosine and sine, 2 output,
// 3 RopeArgs. Grid: (dim / 2, heads, tokens), any threadgroup. A thread reads and writes two
// elements, so in place is allowed.
#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_pairs.h"

template <typename Pairs>
[[kernel]] void rope(device const float* input [[buffer(0)]],
                     device const float2* table [[buffer(1)]], device float* output [[buffer(2)]],
                     constant RopeArgs& args [[buffer(3)]],
                     uint3 place [[thread_position_in_grid]]) {
  const uint i = place.x;
  const ulong head = (static_cast<ulong>(place.z) * args.heads + place.y) * args.dim;
  const uint2 at = Pairs::elements(i, args.pairs);
  const float2 pair = {input[head + at.x], input[head + at.y]};
  float2 result = pair;
  if (i < args.pairs) result = turned(pair, table[static_cast<ulong>(place.z) * args.pairs + i]);
  output[head + at.x] = result.x;
  output[head + at.y] = result.y;
}

MLXN_KERNEL("rope_adjacent_f32", rope, Adjacent);
MLXN_KERNEL("rope_halves_f32", rope, Halves);
