// affine_embedding_{f32,f16,bf16}, by the type of scales and biases: output[t] = (code * scale +
// bias) of row ids[t], times a number; zeros for an id past the table.
// Buffers: 0 table, 1 scales and 2 biases [rows, dim / group], 3 ids, 4 output [tokens, dim],
// 5 AffineEmbeddingArgs. Grid: a thread for 32 elements, (dim / 32, tokens); any threadgroup of one
// row. Code i of a row is at bits i * bits, the lowest of a byte first.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/index/indexed_rows_args.h"

struct Affine {
  float scale, bias, factor;
};

// 32 codes, 8 in as many bytes as a code has bits.
template <uint kBits>
inline void unpack(device const uchar* codes, Affine affine, device float* output) {
  float own[32];
  for (uint run = 0; run < 4; ++run) {
    ulong bits = 0;
    for (uint i = 0; i < kBits; ++i) bits |= static_cast<ulong>(codes[run * kBits + i]) << 8 * i;
    for (uint i = 0; i < 8; ++i) {
      const uint code = static_cast<uint>(bits >> i * kBits) & ((1u << kBits) - 1);
      own[8 * run + i] = fma(static_cast<float>(code), affine.scale, affine.bias) * affine.factor;
    }
  }
  for (uint i = 0; i < 32; ++i) output[i] = own[i];
}

template <typename T>
[[kernel]] void affine_embedding(device const uchar* table [[buffer(0)]],
                                 device const T* scales [[buffer(1)]],
                                 device const T* biases [[buffer(2)]],
                                 device const uint* ids [[buffer(3)]],
                                 device float* output [[buffer(4)]],
                                 constant AffineEmbeddingArgs& args [[buffer(5)]],
                                 uint2 place [[thread_position_in_grid]]) {
  const ulong id = ids[place.y];
  const uint run = place.x;
  device float* to = output + (static_cast<ulong>(place.y) * args.dim + 32 * run);
  if (id >= args.rows) {
    for (uint i = 0; i < 32; ++i) to[i] = 0;
    return;
  }
  device const uchar* codes = table + (id * (args.dim / 8) + 4 * run) * args.bits;
  const ulong at = id * (args.dim / args.group) + 32 * run / args.group;
  const Affine affine = {static_cast<float>(scales[at]), static_cast<float>(biases[at]),
                         args.scale};
  switch (args.bits) {
    case 2: return unpack<2>(codes, affine, to);
    case 3: return unpack<3>(codes, affine, to);
    case 4: return unpack<4>(codes, affine, to);
    case 5: return unpack<5>(codes, affine, to);
    case 6: return unpack<6>(codes, affine, to);
    default: return unpack<8>(codes, affine, to);
  }
}

MLXN_KERNEL("affine_embedding_f32", affine_embedding, float);
MLXN_KERNEL("affine_embedding_f16", affine_embedding, half);
MLXN_KERNEL("affine_embedding_bf16", affine_embedding, bfloat);
