// Layouts of block formats, shared by host and kernels. A block of BlockX holds kElements values in
// codes of a few bits; each piece of 16 values in a row has one scale and one offset. All numbers
// are little-endian; scales of type uint16_t are the bits of a half.
#pragma once

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#endif

#include "mlxn/base/kernel_shared.h"

namespace mlxn {
namespace quant {

#define MLXN_BLOCK_ELEMENTS(count) enum { kElements = count, kPieces = count / 16 }

struct BlockQ4_0 {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  uint8_t codes[16];  // element j in the low half of byte j, element j + 16 in the high half
};

struct BlockQ4_1 {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  uint16_t offset;
  uint8_t codes[16];  // as BlockQ4_0
};

struct BlockQ5_0 {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  uint8_t high[4];    // bit j of the 32: the fifth bit of element j
  uint8_t codes[16];  // as BlockQ4_0
};

struct BlockQ5_1 {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  uint16_t offset;
  uint8_t high[4];
  uint8_t codes[16];
};

struct BlockQ8_0 {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  int8_t codes[32];
};

// Codes of 4 bits that number the values of kIq4Values.
struct BlockIq4_Nl {
  MLXN_BLOCK_ELEMENTS(32);
  uint16_t scale;
  uint8_t codes[16];  // as BlockQ4_0
};

// Codes of 4 bits that number the values of kMxfp4Values.
struct BlockMxfp4 {
  MLXN_BLOCK_ELEMENTS(32);
  uint8_t exponent;   // scale 2^(exponent - 128): half the power, for values kept doubled
  uint8_t codes[16];  // as BlockQ4_0
};

// In blocks of 256, codes of 2 bits lie as 2 halves of 128 elements, each in 32 bytes: element
// 32 g + l of a half in bits 2g and 2g + 1 of byte l.
struct BlockQ2_K {
  MLXN_BLOCK_ELEMENTS(256);
  uint8_t scales[16];  // for each piece: scale in the low half, offset in the high half
  uint8_t codes[64];
  uint16_t scale;
  uint16_t offset;
};

struct BlockQ3_K {
  MLXN_BLOCK_ELEMENTS(256);
  uint8_t high[32];   // element 32 g + l: bit g of byte l; set: nothing is subtracted
  uint8_t codes[64];  // as BlockQ2_K
  uint8_t scales[12];
  uint16_t scale;
};

// Codes of 4 bits lie in 4 groups of 64 elements, each in 32 bytes: elements l < 32 in the low
// halves, elements 32 + l in the high halves.
struct BlockQ4_K {
  MLXN_BLOCK_ELEMENTS(256);
  uint16_t scale;
  uint16_t offset;
  uint8_t scales[12];  // 6 bits of scale and of offset for each 32 elements
  uint8_t codes[128];
};

struct BlockQ5_K {
  MLXN_BLOCK_ELEMENTS(256);
  uint16_t scale;
  uint16_t offset;
  uint8_t scales[12];  // as BlockQ4_K
  uint8_t high[32];    // element 32 g + l: bit g of byte l
  uint8_t codes[128];  // as BlockQ4_K
};

// 2 halves of 128 elements: element 32 g + l of a half has its low bits in byte 32 (g mod 2) + l of
// 64, in the low half of the byte for g < 2, and its two high bits in `high` as BlockQ2_K.
struct BlockQ6_K {
  MLXN_BLOCK_ELEMENTS(256);
  uint8_t codes[128];
  uint8_t high[64];
  int8_t scales[16];  // for each piece
  uint16_t scale;
};

struct BlockIq4_Xs {
  MLXN_BLOCK_ELEMENTS(256);
  uint16_t scale;
  uint16_t scales_high;   // for each 32 elements: the upper 2 of 6 bits
  uint8_t scales_low[4];  // and the lower 4
  uint8_t codes[128];     // 8 groups of 32 elements, each in 16 bytes as BlockIq4_Nl
};

#undef MLXN_BLOCK_ELEMENTS

MLXN_CONSTANT int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of a 4-bit float with 2 bits of exponent.
MLXN_CONSTANT int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace quant
}  // namespace mlxn
