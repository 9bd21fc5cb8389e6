// MSL: pairs of elements of a head that turn together.
#pragma once

#include "mlxn/ops/common/kernel.h"

// Elements of pair i; pairs that do not turn take what is left of the head in order.
struct Adjacent {
  static uint2 elements(uint i, uint) { return {2 * i, 2 * i + 1}; }
};
struct Halves {
  static uint2 elements(uint i, uint pairs) {
    return i < pairs ? uint2(i, i + pairs) : uint2(2 * i, 2 * i + 1);
  }
};

// `turn` is cosine and sine.
inline float2 turned(float2 pair, float2 turn) {
  return {pair.x * turn.x - pair.y * turn.y, pair.x * turn.y + pair.y * turn.x};
}
