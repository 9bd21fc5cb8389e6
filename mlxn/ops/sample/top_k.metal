// top_k_f32: the largest elements of each row, falling; at most kSortBlock. The key of the last one
// is found digit by digit, from counts of digits; then all before it, and of those equal to it the
// first ones, are collected and sorted. Buffers: 0 input [rows, dim], 1 indices and 2 values
// [rows, count], 3 TopKArgs. Grid: a threadgroup of a multiple of 32 threads for each row.
// top_k_sorted_f32: takes the first ones of each row from its sorted indices. Buffers: 0 input,
// 1 sorted [rows, dim], 2 indices, 3 values, 4 TopKArgs. Grid: a thread for each, (count, rows).
#include "mlxn/ops/sample/sort_keys.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

constant constexpr uint kDigits = 256;

// The digit at `shift` of keys that agree with `prefix` above it.
inline void count_digits(device const float* x, uint dim, uint prefix, uint shift,
                         threadgroup atomic_uint* counts, uint thread_index, uint threads) {
  for (uint i = thread_index; i < kDigits; i += threads) {
    atomic_store_explicit(counts + i, 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint known = shift == 24 ? 0u : ~0u << (shift + 8);
  for (uint i = thread_index; i < dim; i += threads) {
    const uint key = sort_key(x[i], true);
    if (((key ^ prefix) & known) != 0) continue;
    atomic_fetch_add_explicit(counts + (key >> shift & (kDigits - 1)), 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// One simdgroup: entries of keys before `last`, and the first `ties` of those equal to it.
inline void collect(device const float* x, uint dim, uint last, uint ties,
                    threadgroup ulong* entries, uint lane) {
  uint found = 0;
  for (uint i = 0; i < dim; i += 32) {
    const float value = i + lane < dim ? (x + i)[lane] : 0.0f;
    const uint key = sort_key(value, true);
    const bool tie = i + lane < dim && key == last;
    if (simd_max(i + lane < dim && key <= last ? 1u : 0u) == 0) continue;
    const uint before = simd_prefix_exclusive_sum(tie ? 1u : 0u);
    const bool taken = i + lane < dim && (key < last || (tie && before < ties));
    const uint at = found + simd_prefix_exclusive_sum(taken ? 1u : 0u);
    if (taken) entries[at] = static_cast<ulong>(key) << 32 | (i + lane);
    found += simd_sum(taken ? 1u : 0u);
    ties -= min(ties, simd_sum(tie ? 1u : 0u));
  }
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
  threadgroup atomic_uint counts[kDigits];
  const uint threads = 32 * simdgroups;
  device const float* x = input + static_cast<ulong>(row) * args.dim;
  uint prefix = 0, wanted = args.count;
  for (int shift = 24; shift >= 0; shift -= 8) {
    count_digits(x, args.dim, prefix, static_cast<uint>(shift), counts, thread_index, threads);
    uint digit = 0;
    for (; digit + 1 < kDigits; ++digit) {
      const uint here = atomic_load_explicit(counts + digit, memory_order_relaxed);
      if (here >= wanted) break;
      wanted -= here;
    }
    prefix |= digit << shift;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  uint size = 2;
  while (size < args.count) size *= 2;
  for (uint i = args.count + thread_index; i < size; i += threads) entries[i] = ~0ul;
  if (simdgroup == 0) collect(x, args.dim, prefix, wanted, entries, lane);
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
