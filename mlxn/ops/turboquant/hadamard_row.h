// MSL: the Walsh-Hadamard transform of a row in threadgroup memory, by all threads of a
// threadgroup.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/turboquant/signs.h"

// A thread among those that work on a row.
struct Worker {
  uint lane, simdgroup, simdgroups;
};

// -1 where the table says so.
inline float sign_of(uint i) {
  return (kTurboQuantSigns[i / 8] >> (i % 8) & 1) != 0 ? -1.0f : 1.0f;
}

inline float sum_of(float a, float b) {
  Accumulator sum = a;
  sum += b;
  return sum;
}

// row = H row, with H scaled by 1 / sqrt(dim); dim is a power of two. The row was written by any
// threads; afterwards all of it can be read by all.
inline void hadamard_row(threadgroup float* row, uint dim, Worker worker) {
  threadgroup_barrier(mem_flags::mem_threadgroup);
  // Within 32 elements, which a simdgroup holds.
  for (uint i = worker.simdgroup * 32; i < dim; i += worker.simdgroups * 32) {
    float value = 0;
    if (i + worker.lane < dim) value = (row + i)[worker.lane];
#pragma unroll
    for (uint h = 1; h < 32; h *= 2) {
      const float other = simd_shuffle_xor(value, static_cast<ushort>(h));
      const float step = (worker.lane & h) != 0 ? sum_of(other, -value) : sum_of(value, other);
      value = h < dim ? step : value;
    }
    if (i + worker.lane < dim) (row + i)[worker.lane] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint h = 32; h < dim; h *= 2) {
    // Pairs of runs of 32.
    for (uint p = worker.simdgroup * 32; p < dim / 2; p += worker.simdgroups * 32) {
      threadgroup float* low = row + p / h * (2 * h) + p % h;
      threadgroup float* high = low + h;
      const float a = low[worker.lane], b = high[worker.lane];
      low[worker.lane] = sum_of(a, b);
      high[worker.lane] = sum_of(a, -b);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  const float scale = rsqrt(static_cast<float>(dim));
  for (uint i = worker.simdgroup * 32; i < dim; i += worker.simdgroups * 32) {
    if (i + worker.lane < dim) (row + i)[worker.lane] *= scale;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
