// MSL: products of small vectors, added up. Plain arithmetic; exact in dot4.
#pragma once

#include "mlxn/ops/common/kernel.h"

// sum + the four products of a byte of `a`, without sign, and a byte of `b`, with sign.
inline int dot4(uint a, int b, int sum) {
  const uchar4 x = as_type<uchar4>(a);
  const char4 y = as_type<char4>(b);
  return sum + int(x.x) * int(y.x) + int(x.y) * int(y.y) + int(x.z) * int(y.z) +
         int(x.w) * int(y.w);
}
