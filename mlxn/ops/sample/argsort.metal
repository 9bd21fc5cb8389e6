// argsort_blocks_f32: sorts pieces of kSortBlock elements. Buffers: 0 input [rows, dim], 1 indices,
// 2 SortArgs. Grid: threadgroups of a multiple of 32 threads, (pieces, rows).
// argsort_merge_f32: merges sorted runs two by two: each element goes to its place in its own run
// plus the number of elements of the other run before it. Buffers: 0 input, 1 indices in runs,
// 2 indices in runs of twice the length, 3 SortArgs. Grid: a thread for each element, (dim, rows).
#include "mlxn/ops/sample/sort_keys.h"
#include "mlxn/ops/sample/sorted_rows_args.h"

[[kernel]] void argsort_blocks_f32(device const float* input [[buffer(0)]],
                                   device uint* indices [[buffer(1)]],
                                   constant SortArgs& args [[buffer(2)]],
                                   uint2 group [[threadgroup_position_in_grid]],
                                   uint thread_index [[thread_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]],
                                   uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup ulong entries[kSortBlock];
  const uint threads = 32 * simdgroups, begin = group.x * kSortBlock;
  const uint length = min(args.dim - begin, kSortBlock);
  const ulong row = static_cast<ulong>(group.y) * args.dim;
  uint count = 2;
  while (count < length) count *= 2;
  for (uint i = thread_index; i < count; i += threads) {
    ulong entry = ~0ul;
    if (i < length) entry = sort_entry((input + row + begin)[i], begin + i, args.descending != 0);
    entries[i] = entry;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sort_entries(entries, count, thread_index, threads);
  for (uint i = thread_index; i < length; i += threads) {
    (indices + row + begin)[i] = static_cast<uint>(entries[i]);
  }
}

[[kernel]] void argsort_merge_f32(device const float* input [[buffer(0)]],
                                  device const uint* from [[buffer(1)]],
                                  device uint* to [[buffer(2)]],
                                  constant SortArgs& args [[buffer(3)]],
                                  uint2 place [[thread_position_in_grid]]) {
  const ulong row = static_cast<ulong>(place.y) * args.dim;
  device const float* values = input + row;
  device const uint* own = from + row;
  const uint run = place.x / args.run, first = run / 2 * 2;
  const uint begin = min((run ^ 1) * args.run, args.dim);
  const uint end = min(begin + args.run, args.dim);
  const uint index = own[place.x];
  const ulong entry = sort_entry(values[index], index, args.descending != 0);
  uint low = begin, high = end;
  while (low < high) {
    const uint middle = low + (high - low) / 2, other = own[middle];
    const bool before = sort_entry(values[other], other, args.descending != 0) < entry;
    low = before ? middle + 1 : low;
    high = before ? high : middle;
  }
  to[row + first * args.run + (place.x - run * args.run) + (low - begin)] = index;
}
