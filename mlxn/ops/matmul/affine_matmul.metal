// affine_matmul_{1,8}_{2,3,4,5,6,8}: slab_matmul (slab_matmul.metal) with weights of so many bits:
// weight = scale * code + bias with a scale and a bias for each group_size elements of a row.
// Buffers: 0 to 6 those of slab_matmul, 7 weights [slabs, columns, words], codes one behind the
// other from the lowest bit of each row's first word on, 8 scales and 9 biases [slabs, columns,
// groups]. Grid: threadgroups of 128 threads, (columns / 4, rows / rows at once).
#include "mlxn/ops/matmul/slab_product.h"

template <uint Bits>
struct AffineRow {
  device const uint* words;
  device const uchar* scales;
  device const uchar* biases;
  ulong first_group;
  uint group_size, scale_type;

  // 32 codes fill whole words.
  void unpack(uint group, uint depth, threadgroup float* values) const {
    const ulong at = first_group + 32 * group / group_size;
    const float scale = load_float(scales, at, scale_type);
    const float bias = load_float(biases, at, scale_type);
    const uint length = min(32u, depth - 32 * group);
    const uint last = (length * Bits + 31) / 32 - 1;  // word of this group
    uint own[Bits];
#pragma unroll
    for (uint i = 0; i < Bits; ++i) own[i] = words[group * Bits + min(i, last)];
    float unpacked[32];
#pragma unroll
    for (uint j = 0; j < 32; ++j) {
      const uint word = j * Bits / 32, shift = j * Bits % 32;
      uint code = own[word] >> shift;
      if (shift + Bits > 32) code |= own[word + 1] << (32 - shift);
      code &= (1u << Bits) - 1;
      unpacked[j] = fma(scale, static_cast<float>(static_cast<int>(code)), bias);
    }
#pragma unroll
    for (uint j = 0; j < 32; ++j) values[j] = j < length ? unpacked[j] : 0.0f;
  }
  void unpack_chunk(uint begin, uint depth, threadgroup float* chunk, uint lane) const {
    unpack_in_groups(*this, begin, depth, chunk, lane);
  }
};

template <uint Bits>
struct AffineTensor {
  device const uint* words;
  device const uchar* scales;
  device const uchar* biases;

  AffineRow<Bits> row(ulong index, constant SlabMatmulArgs& args) const {
    const ulong of_row = (static_cast<ulong>(args.depth) * Bits + 31) / 32;
    const uint groups = (args.depth - 1) / args.group_size + 1;
    return {words + index * of_row, scales,          biases,
            index * groups,         args.group_size, args.scale_type};
  }
};

template <uint Bits, uint M>
[[kernel, max_total_threads_per_threadgroup(kSlabLanes* kSlabColumns)]] void affine_matmul(
    device const uint* weights [[buffer(7)]], device const uchar* scales [[buffer(8)]],
    device const uchar* biases [[buffer(9)]], MLXN_SLAB_ARGUMENTS) {
  threadgroup float values[M * kChunk], chunks[kSlabColumns * kChunk];
  const SlabBuffers buffers = {input, up, ids, order, bias, output};
  const AffineTensor<Bits> tensor = {weights, scales, biases};
  slab_product<M>(buffers, tensor, args, values, chunks, group, lane, simdgroup);
}

#define MLXN_ENTRY(bits)                                         \
  MLXN_KERNEL("affine_matmul_1_" #bits, affine_matmul, bits, 1); \
  MLXN_KERNEL("affine_matmul_8_" #bits, affine_matmul, bits, 8);
MLXN_ENTRY(2)
MLXN_ENTRY(3)
MLXN_ENTRY(4)
MLXN_ENTRY(5)
MLXN_ENTRY(6)
MLXN_ENTRY(8)
