// affine_matmul_{1,8}_{2,3,4,5,6,8}: slab_matmul (slab_matmul.metal) with weights of so many bits:
// weight = scale * code + bias with a scale and a bias for each group_size elements of a row.
// Buffers: 0 to 6 those of slab_matmul, 7 weights [slabs, columns, words], codes one behind the
// other from the lowest bit of each row's first word on, 8 scales and 9 biases [slabs, columns,
// groups]. Grid: threadgroups of 128 threads, (columns / 4, rows / rows at once).
#include "mlxn/ops/matmul/slab_product.h"

// load_float without a branch: neither half lies outside of the number.
inline float load_scale(device const uchar* scales, ulong i, uint type) {
  const uint size = type == 0 ? 4 : 2;
  device const ushort* low = reinterpret_cast<device const ushort*>(scales + i * size);
  device const ushort* high = reinterpret_cast<device const ushort*>(scales + (i + 1) * size - 2);
  const uint bits = static_cast<uint>(*high) << 16 | (type == 0 ? *low : 0u);
  return type == 1 ? static_cast<float>(as_type<half>(*low)) : as_type<float>(bits);
}

// The group of an element, and how many elements are left in it: no division for each step.
struct ScaleGroup {
  ulong at;
  uint left;

  void advance(uint size) {
    left -= kLanes;
    at += left == 0 ? 1 : 0;
    left = left == 0 ? size : left;
  }
};

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

  // Bytes with whole codes, one for each thread: up to four times 32 elements.
  void unpack_bytes(uint begin, thread ScaleGroup& group, threadgroup float* to, uint lane) const {
    constexpr uint kCodes = 8 / Bits, kPart = kLanes / kCodes;  // threads of 32 elements
    const ulong at = static_cast<ulong>(begin) / 8 * Bits;
    const uint byte = (reinterpret_cast<device const uchar*>(words) + at)[lane];
    float scale = 0, bias = 0;
#pragma unroll
    for (uint i = 0; i < kCodes; ++i) {
      const float own_scale = load_scale(scales, group.at, scale_type);
      const float own_bias = load_scale(biases, group.at, scale_type);
      scale = lane >= i * kPart ? own_scale : scale;
      bias = lane >= i * kPart ? own_bias : bias;
      group.advance(group_size);
    }
    simdgroup_barrier(mem_flags::mem_none);  // that no store stands between loads
#pragma unroll
    for (uint i = 0; i < kCodes; ++i) {
      const uint code = (byte >> (i * Bits)) & ((1u << Bits) - 1);
      to[lane * kCodes + i] = fma(scale, static_cast<float>(static_cast<int>(code)), bias);
    }
  }
  // Neighbouring threads take neighbouring bytes while there are enough.
  void unpack_chunk(uint begin, uint depth, threadgroup float* chunk, uint lane) const {
    constexpr uint kAtOnce = kLanes * (8 / Bits), kSpan = kAtOnce < kStep ? kStep : kAtOnce;
    const uint length = min(kChunk, depth - begin);
    uint done = 0;
    if (8 % Bits == 0) {
      ScaleGroup of_scale = {first_group + begin / group_size, group_size - begin % group_size};
      for (; done + kSpan <= length; done += kSpan) {
#pragma unroll
        for (uint i = 0; i < kSpan; i += kAtOnce) {
          unpack_bytes(begin + done + i, of_scale, chunk + done + i, lane);
        }
      }
    }
    if (done < length) {
      unpack_in_groups(*this, begin + done, begin + length, chunk + done, lane);
    }
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
