// top_k_f32: the largest elements of each row, falling; at most kSortBlock. A long row is seen as
// kSortBlock parts: at least as many elements as are wanted are not after the last of the best of
// so many parts. What is not after it is collected and sorted, if that is not too much: else, and
// in short rows, the last one itself is found, and only what is wanted collected.
// Buffers: 0 input [rows, dim], 1 indices and 2 values [rows, count], 3 TopKArgs. Grid: a
// threadgroup of 32, 64 or 128 threads for each row.
// top_k_sorted_f32: takes the first ones of each row from its sorted indices. Buffers: 0 input,
// 1 sorted [rows, dim], 2 indices, 3 values, 4 TopKArgs. Grid: a thread for each, (count, rows).
#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/sample/sort_keys.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

constant constexpr uint kMostSimdgroups = 4;

struct RowKeys {
  device const float* x;
  uint at(uint i) const { return sort_key(x[i], true); }
};
struct BestKeys {
  threadgroup const uint* keys;
  uint at(uint i) const { return keys[i]; }
};

// The key that is at place `wanted` from 1 of a sorted order, and how many of those equal to it are
// among these.
struct Last {
  uint key, ties;
};

// The sum over the threadgroup. It comes to all lanes as one, so that branches on it keep them
// together, which is not so for a count kept in atomics.
inline uint total(uint own, threadgroup uint* sums, Place place) {
  own = simd_sum(own);
  if (place.lane == 0) sums[place.simdgroup] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint sum = sums[0];
  for (uint i = 1; i < place.simdgroups; ++i) sum += sums[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return sum;
}

// It is known to be from `low` to `high`. Bit by bit: counts the keys up to the middle of what is
// left. All threads call.
template <typename Keys>
inline Last last_of(Keys keys, uint count, uint wanted, uint low, uint high, threadgroup uint* sums,
                    Place place) {
  uint prefix = low, below = 0;
  if (low == high) return {low, wanted};
  for (uint bit = 1u << (31 - clz(low ^ high)); bit > 0; bit /= 2) {
    prefix &= ~bit;
    const uint middle = prefix | (bit - 1);
    uint own = 0;
    for (uint i = 32 * place.simdgroup + place.lane; i < count; i += 32 * place.simdgroups) {
      own += keys.at(i) <= middle ? 1 : 0;
    }
    const uint number = total(own, sums, place);
    if (number >= wanted) continue;
    prefix |= bit;
    below = number;
  }
  return {prefix, wanted - below};
}

// One simdgroup: entries of keys before the last one, and of those equal to it the first ones.
// Returns how many there are, of which the first kSortBlock are stored.
inline uint collect(device const float* x, uint dim, Last last, threadgroup ulong* entries,
                    uint lane) {
  constexpr uint kTogether = 256;  // looked at before anything is collected
  uint found = 0;
  for (uint begin = 0; begin < dim; begin += kTogether) {
    uint first = ~0u;
    for (uint i = 0; i < kTogether; i += 32) {
      if (begin + i + lane < dim) first = min(first, sort_key((x + begin + i)[lane], true));
    }
    if (simd_min(first) > last.key) continue;
    for (uint i = begin; i < min(begin + kTogether, dim); i += 32) {
      const bool exists = i + lane < dim;
      const uint key = sort_key(exists ? (x + i)[lane] : 0.0f, true);
      const uint tie = exists && key == last.key ? 1 : 0;
      const uint before = simd_prefix_exclusive_sum(tie);
      const bool taken = exists && (key < last.key || (tie != 0 && before < last.ties));
      const uint at = found + simd_prefix_exclusive_sum(taken ? 1u : 0u);
      if (taken && at < kSortBlock) entries[at] = static_cast<ulong>(key) << 32 | (i + lane);
      found += simd_sum(taken ? 1u : 0u);
      last.ties -= min(last.ties, simd_sum(tie));
    }
  }
  return found;
}

// The best keys of kSortBlock interleaved parts of a row. The threads are a power of two,
// at most an eighth of the parts.
inline void find_best(device const float* x, uint dim, threadgroup uint* best, uint thread_index,
                      uint threads) {
  threadgroup uint* own = best + thread_index;
  for (uint part = 0; part < kSortBlock; part += threads) own[part] = ~0u;
  for (uint begin = 0; begin < dim; begin += kSortBlock) {
    device const float* from = x + begin + thread_index;
    for (uint part = 0; part < kSortBlock; part += 8 * threads) {
      simdgroup_barrier(mem_flags::mem_none);  // the lanes side by side
      const bool whole = begin + part + 8 * threads <= dim;
      for (uint e = 0; e < 8; ++e) {
        const uint i = part + e * threads;
        uint key = ~0u;
        if (whole || begin + i + thread_index < dim) key = sort_key(from[i], true);
        own[i] = min(own[i], key);
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

[[kernel]] void top_k_f32(device const float* input [[buffer(0)]],
                          device uint* indices [[buffer(1)]], device float* values [[buffer(2)]],
                          constant TopKArgs& args [[buffer(3)]],
                          uint row [[threadgroup_position_in_grid]],
                          uint thread_index [[thread_index_in_threadgroup]],
                          uint lane [[thread_index_in_simdgroup]],
                          uint simdgroup [[simdgroup_index_in_threadgroup]],
                          uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup ulong entries[kSortBlock];
  threadgroup uint best[kSortBlock];
  threadgroup uint counted;
  threadgroup uint sums[kMostSimdgroups];
  const Place place = {lane, simdgroup, simdgroups};
  const uint threads = 32 * simdgroups;
  device const float* x = input + static_cast<ulong>(row) * args.dim;
  uint found = ~0u, low = 0, high = ~0u;
  if (args.dim > kSortBlock) {
    find_best(x, args.dim, best, thread_index, threads);
    high = last_of(BestKeys{best}, kSortBlock, args.count, low, high, sums, place).key;
    if (simdgroup == 0) {
      const uint number = collect(x, args.dim, Last{high, ~0u}, entries, lane);
      if (lane == 0) counted = number;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    found = counted;
    if (found > kSortBlock) {
      low = last_of(BestKeys{best}, kSortBlock, 1, low, high, sums, place).key;
    }
  }
  if (found > kSortBlock) {
    const Last last = last_of(RowKeys{x}, args.dim, args.count, low, high, sums, place);
    if (simdgroup == 0) collect(x, args.dim, last, entries, lane);
    found = args.count;
  }
  uint size = 2;
  while (size < found) size *= 2;
  for (uint i = found + thread_index; i < size; i += threads) entries[i] = ~0ul;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sort_entries(entries, size, thread_index, threads);
  for (uint i = thread_index; i < args.count; i += threads) {
    const uint index = static_cast<uint>(entries[i]);
    (indices + static_cast<ulong>(row) * args.count)[i] = index;
    (values + static_cast<ulong>(row) * args.count)[i] = x[index];
  }
}

[[kernel]] void top_k_sorted_f32(device const float* input [[buffer(0)]],
                                 device const uint* sorted [[buffer(1)]],
                                 device uint* indices [[buffer(2)]],
                                 device float* values [[buffer(3)]],
                                 constant TopKArgs& args [[buffer(4)]],
                                 uint2 place [[thread_position_in_grid]]) {
  const ulong row = static_cast<ulong>(place.y) * args.dim;
  const uint index = (sorted + row)[place.x];
  (indices + static_cast<ulong>(place.y) * args.count)[place.x] = index;
  (values + static_cast<ulong>(place.y) * args.count)[place.x] = input[row + index];
}
