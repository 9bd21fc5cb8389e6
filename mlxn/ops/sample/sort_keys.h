// MSL: floats as whole numbers in the order of sorting, and their order within a threadgroup.
#pragma once

#include "mlxn/ops/common/kernel.h"

// A smaller key comes first. NaN comes last both ways; the zeros are equal.
inline uint sort_key(float value, bool descending) {
  const uint bits = as_type<uint>(value), magnitude = bits & 0x7fffffffu;
  const bool negative = bits != magnitude && magnitude != 0;
  const uint rising = negative ? ~bits : magnitude | 0x80000000u;
  const uint key = descending ? ~rising : rising;
  return magnitude > 0x7f800000u ? 0xffffffffu : key;
}

// With the index behind the key no two entries are equal, and ties go to the lowest index.
inline ulong sort_entry(float value, uint index, bool descending) {
  return static_cast<ulong>(sort_key(value, descending)) << 32 | index;
}

// Sorts `count` entries, a power of two. All threads call, after a barrier; ends with one.
inline void sort_entries(threadgroup ulong* entries, uint count, uint thread_index, uint threads) {
  for (uint size = 2; size <= count; size *= 2) {
    for (uint step = size / 2; step > 0; step /= 2) {
      for (uint pair = thread_index; pair < count / 2; pair += threads) {
        const uint low = 2 * pair - (pair & (step - 1)), high = low + step;
        const ulong a = entries[low], b = entries[high];
        const bool swap = (a > b) == ((low & size) == 0);
        entries[low] = swap ? b : a;
        entries[high] = swap ? a : b;
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
}
