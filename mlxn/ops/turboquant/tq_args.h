// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// Rows of a cache [heads, capacity, dim] in codes.
struct TqArgs {
  uint32_t heads, capacity, dim, bits;
  uint32_t first_token;  // of the source
  uint32_t first_row;    // of the cache; behind the last one comes row 0
  uint32_t input_type;   // 0 f32, 1 f16, 2 bf16
  float scale_factor;    // where a row has two norms
};

// Norms of a row: above 256 elements one for each 256.
inline uint32_t tq_norms(uint32_t dim) {
  return dim > 256 ? dim / 256 : 1;
}
// Bytes of a row's codes: below 5 bits two in a byte, the even element in the low half.
inline uint32_t tq_bytes(uint32_t dim, uint32_t bits) {
  return bits == 4 ? dim / 2 : dim;
}
