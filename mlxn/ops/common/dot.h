// MSL: dot products of the numbers in a word, one instruction where the processor has it.
#pragma once

#include "mlxn/ops/common/kernel.h"

// sum + b0 * s0 + b1 * s1 + b2 * s2 + b3 * s3 over the bytes of the words, lowest first: unsigned
// ones times signed ones. Exact; what leaves 32 bits wraps.
inline int dot4(uint unsigned_bytes, int signed_bytes, int sum) {
#ifdef __MSL_PACKED_DOTS__
  return __msl_dot4(unsigned_bytes, signed_bytes, sum);
#else
  const uchar4 b = as_type<uchar4>(unsigned_bytes);
  const char4 s = as_type<char4>(signed_bytes);
  int products = 0;
  for (uint i = 0; i < 4; ++i) products += static_cast<int>(b[i]) * static_cast<int>(s[i]);
  return as_type<int>(as_type<uint>(sum) + as_type<uint>(products));
#endif
}

// fma(a.x, b.x, fma(a.y, b.y, sum)): rounded after each product. A denormal operand or result may
// count as zero.
inline float dot2(bfloat2 a, bfloat2 b, float sum) {
#ifdef __MSL_PACKED_DOTS__
  return __msl_dot2(as_type<uint>(a), as_type<uint>(b), sum);
#else
  const float high = fma(static_cast<float>(a.y), static_cast<float>(b.y), sum);
  return fma(static_cast<float>(a.x), static_cast<float>(b.x), high);
#endif
}
