// rope_{adjacent,halves}_f32: turns pair i of each head by entry i of the token's row of a table.
// Buffers: 0 input [tokens, heads, dim], 1 table [tokens, pairs] of cosine and sine, 2 output,
// 3 RopeArgs.
// rope_slice_{f32,f16,bf16}: the same for any places of pairs, forth or back. Buffers: the same
// with 3 RopeSliceArgs. Computed in float, rounded once.
// Grid: (dim / 2, heads, tokens), any threadgroup. A thread reads and writes two elements, so in
// place is allowed; of a slice in place (pairs, heads, tokens) is enough.
#include "mlxn/ops/rope/rope_places.h"

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

template <typename T>
[[kernel]] void rope_slice(device const T* input [[buffer(0)]],
                           device const float2* table [[buffer(1)]], device T* output [[buffer(2)]],
                           constant RopeSliceArgs& args [[buffer(3)]],
                           uint3 place [[thread_position_in_grid]]) {
  constant RopePlaces& places = args.places;
  const uint i = place.x;
  const ulong head = (static_cast<ulong>(place.z) * args.heads + place.y) * args.dim;
  device const T* x = input + head;
  device T* y = output + head;
  if (i < places.pairs) {
    const uint2 at = pair_of(places, i);
    float2 turn = table[static_cast<ulong>(place.z) * places.pairs + i];
    turn.y *= args.direction;
    const float2 result =
        turned(float2(static_cast<float>(x[at.x]), static_cast<float>(x[at.y])), turn);
    y[at.x] = static_cast<T>(result.x);
    y[at.y] = static_cast<T>(result.y);
  } else {
    const uint rest = i - places.pairs;
    const uint a = unpaired(places, rest);
    const uint b = unpaired(places, rest + args.dim / 2 - places.pairs);
    const T first = x[a], second = x[b];
    y[a] = first;
    y[b] = second;
  }
}

MLXN_KERNEL("rope_slice_f32", rope_slice, float);
MLXN_KERNEL("rope_slice_f16", rope_slice, half);
MLXN_KERNEL("rope_slice_bf16", rope_slice, bfloat);
