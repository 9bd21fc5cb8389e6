// MSL: where the pairs of a head lie, and what lies between them.
#pragma once

#include "mlxn/ops/rope/rope_args.h"
#include "mlxn/ops/rope/rope_pairs.h"

// The two elements of pair i.
inline uint2 pair_of(constant RopePlaces& places, uint i) {
  if (places.adjacent) return uint2(2 * i, 2 * i + 1) + places.offset;
  const uint begin = places.offset + i + (i < places.block ? 0 : places.block);
  return {begin, begin + places.split};
}

// Of the elements that are in no pair, number i.
inline uint unpaired(constant RopePlaces& places, uint i) {
  if (i < places.offset) return i;
  const bool gap = !places.adjacent && i - places.offset < places.split - places.block;
  return i + (gap ? places.pairs : 2 * places.pairs);
}
