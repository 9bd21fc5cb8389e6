// tq_attention_{1,4}_{256,512}_{4,8}: softmax(scale * q k^T) v for one query, rotated, over keys
// and values in codes, of 4 bits, or of 5 to 8 with a byte each. With 1 or 4 of the heads that
// share a head of keys, of up to 256 or 512 elements. Buffers: 0 queries [heads, dim], 1 codes and
// 2 norms of keys, 3 those of values, 4, see tq_encode.h, 5 output [heads, dim], 6 TqAttentionArgs.
// Grid: threadgroups of 128 threads, (heads / heads at once, kv heads). Otherwise as sdpa_row of
// attention/sdpa.metal; chunks are of rows of the cache, in whatever order they were written.
#include "mlxn/ops/attention/sdpa_few.h"
#include "mlxn/ops/turboquant/tq_attention_args.h"
#include "mlxn/ops/turboquant/tq_row.h"

// A head of keys or values. Nibbles: two codes in a byte.
template <bool Nibbles>
struct CodedRows {
  device const uchar* codes;  // of row 0
  device const float* norms;
  threadgroup const float* book;  // the codebook, over what a norm is divided by
  uint dim, bits;

  float element(uint row, uint element, uint lane) const {
    device const uchar* own = codes + static_cast<ulong>(row) * tq_bytes(dim, bits);
    uint code;
    if (Nibbles) {
      code = (own + element / 2)[lane / 2] >> (4 * (lane % 2)) & 15;
    } else {
      code = (own + element)[lane] & (codebook_levels(bits) - 1);
    }
    return book[code] * norms[static_cast<ulong>(row) * tq_norms(dim) + element / 256];
  }
};

template <bool Nibbles>
struct CodedHeads {
  CodedRows<Nibbles> keys, values;
  float key(uint row, uint element, uint lane) const { return keys.element(row, element, lane); }
  float value(uint row, uint element, uint lane) const {
    return values.element(row, element, lane);
  }
};

// Rows of a ring, the oldest of which is at `start`.
struct RingRows {
  ulong first, end;
  uint start, capacity, hidden;

  bool has(ulong row) const {
    const uint at = static_cast<uint>(row);
    const uint age = at >= start ? at - start : at + capacity - start;
    return row < end && age < static_cast<uint>(end) && age >= hidden;
  }
  bool has_chunk(ulong from) const {
    return start == 0 && hidden <= from && from + kSdpaKeys <= end;
  }
};

template <uint D, uint M, bool Nibbles>
[[kernel, max_total_threads_per_threadgroup(kSdpaThreads)]] void tq_attention(
    device const uchar* queries [[buffer(0)]], device const uchar* key_codes [[buffer(1)]],
    device const float* key_norms [[buffer(2)]], device const uchar* value_codes [[buffer(3)]],
    device const float* value_norms [[buffer(4)]], device uchar* output [[buffer(5)]],
    constant TqAttentionArgs& args [[buffer(6)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup SdpaFew<D, M> few;
  threadgroup float book[Nibbles ? 16 : 256];
  const uint dim = args.sdpa.dim;
  const float unit = unit_of(dim, args.scale_factor);
  for (uint i = simdgroup * 32 + lane; i < codebook_levels(args.bits); i += kSdpaThreads) {
    book[i] = codebook_value(args.bits, i) / unit;
  }
  const ulong codes = static_cast<ulong>(group.y) * args.capacity * tq_bytes(dim, args.bits);
  const ulong norms = static_cast<ulong>(group.y) * args.capacity * tq_norms(dim);
  const CodedHeads<Nibbles> heads = {
      {key_codes + codes, key_norms + norms, book, dim, args.bits},
      {value_codes + codes, value_norms + norms, book, dim, args.bits}};
  const RingRows seen = {0, args.sdpa.keys, args.ring_start, args.capacity, args.hidden};
  const SdpaBuffers buffers = {queries, queries, key_norms, key_norms, output};
  attend_few(few, heads, seen, buffers, args.sdpa, uint3(group, 0), lane, simdgroup);
}

#define MLXN_ENTRY(dim)                                                  \
  MLXN_KERNEL("tq_attention_1_" #dim "_4", tq_attention, dim, 1, true);  \
  MLXN_KERNEL("tq_attention_4_" #dim "_4", tq_attention, dim, 4, true);  \
  MLXN_KERNEL("tq_attention_1_" #dim "_8", tq_attention, dim, 1, false); \
  MLXN_KERNEL("tq_attention_4_" #dim "_8", tq_attention, dim, 4, false);
MLXN_ENTRY(256)
MLXN_ENTRY(512)
