// What counts as the same for all threads, and what does not.
// RUN: --explain
#include <metal_stdlib>
using namespace metal;

// CHECK-LABEL: {{^}}by_argument: tier 1
// CHECK: branches that are not the same for all threads: 0 (1 others are)
kernel void by_argument(device float* x, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
  if (n > 3) x[t] = simd_sum(x[t]);
}

// CHECK-LABEL: {{^}}by_memory: tier 1
// CHECK: branches that are not the same for all threads: 0 (1 others are)
kernel void by_memory(device float* x, device uint* limit, uint t [[thread_index_in_threadgroup]],
                      uint group [[threadgroup_position_in_grid]]) {
  if (limit[group] > 3) x[t] = simd_sum(x[t]);
}

// CHECK-LABEL: {{^}}by_simdgroup: tier 1
// CHECK: [[@LINE+4]]  simd_sum  reached by some simdgroups only
// CHECK: branches that are not the same for all threads: 1 (0 others are)
// CHECK-NEXT: uniformity.metal:[[@LINE+2]]  the same for a simdgroup
kernel void by_simdgroup(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (t / 32 == 2) x[t] = simd_sum(x[t]);
}

// CHECK-LABEL: {{^}}by_pair_of_simdgroups: tier 1
// CHECK: uniformity.metal:[[@LINE+2]]  the same for a simdgroup
kernel void by_pair_of_simdgroups(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (((t >> 3) & ~3u) == 4) x[t] = simd_sum(x[t]);
}

// What LLVM makes of the first simdgroup, and of the others, is a comparison.
// CHECK-LABEL: {{^}}by_first_simdgroup: tier 1
// CHECK: uniformity.metal:[[@LINE+2]]  the same for a simdgroup
kernel void by_first_simdgroup(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (t / 32 == 0) x[t] = simd_sum(x[t]);
}
// CHECK-LABEL: {{^}}by_later_simdgroups: tier 1
// CHECK: uniformity.metal:[[@LINE+2]]  the same for a simdgroup
kernel void by_later_simdgroups(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (t > 63) x[t] = simd_sum(x[t]);
}
// CHECK-LABEL: {{^}}by_some_threads: tier 2
// CHECK: uniformity.metal:[[@LINE+2]]  differs between lanes
kernel void by_some_threads(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (t < 48) x[t] = simd_sum(x[t]);
}

// One bit too many is left.
// CHECK-LABEL: {{^}}by_part_of_simdgroup: tier 2
// CHECK-NEXT: why: not tier 1: a cross-lane operation behind a branch that differs between lanes
// CHECK: uniformity.metal:[[@LINE+2]]  differs between lanes
kernel void by_part_of_simdgroup(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (((t >> 3) & ~1u) == 4) x[t] = simd_sum(x[t]);
}

// CHECK-LABEL: {{^}}by_reduction: tier 1
// CHECK: uniformity.metal:[[@LINE+3]]  the same for a simdgroup
kernel void by_reduction(device float* x, uint t [[thread_index_in_threadgroup]]) {
  float most = simd_max(x[t]);
  if (most > 1) x[t] = simd_sum(x[t]) / most;
}

// CHECK-LABEL: {{^}}by_lane: tier 2
// CHECK: uniformity.metal:[[@LINE+4]]  simd_sum  reached by some lanes only
// CHECK: branches that are not the same for all threads: 1 (0 others are)
// CHECK-NEXT: uniformity.metal:[[@LINE+2]]  differs between lanes
kernel void by_lane(device float* x, uint t [[thread_index_in_threadgroup]]) {
  if (x[t] > 0) x[t] = simd_sum(x[t]);
}

// Both sides of a divergent branch bring uniform values, but not the same one.
// CHECK-LABEL: {{^}}by_join: tier 2
// CHECK: uniformity.metal:[[@LINE+8]]  simd_sum  reached by some lanes only
kernel void by_join(device float* x, device atomic_uint* n,
                    uint t [[thread_index_in_threadgroup]]) {
  uint way = 1;
  if (x[t] > 0) {
    atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
    way = 2;
  }
  if (way == 2) x[t] = simd_sum(x[t]);
}

// The counter is uniform inside the loop, but lanes leave it at different times.
// CHECK-LABEL: {{^}}by_time_of_leaving: tier 2
// CHECK: uniformity.metal:[[@LINE+5]]  differs between lanes
// CHECK: uniformity.metal:[[@LINE+5]]  differs between lanes
kernel void by_time_of_leaving(device float* x, device atomic_uint* n,
                               uint t [[thread_index_in_threadgroup]]) {
  uint rounds = 0;
  while (atomic_fetch_add_explicit(&n[t], 1, memory_order_relaxed) < 100) ++rounds;
  if (rounds == 7) x[t] = simd_sum(x[t]);
}

// A reduction is the same for all lanes, whenever they left the loop with what they bring.
// CHECK-LABEL: {{^}}by_sum_of_leaving: tier 1
// CHECK: uniformity.metal:[[@LINE+5]]  differs between lanes
// CHECK: uniformity.metal:[[@LINE+6]]  the same for a simdgroup
kernel void by_sum_of_leaving(device float* x, device atomic_uint* n,
                              uint t [[thread_index_in_threadgroup]]) {
  uint rounds = 0;
  do ++rounds;
  while (atomic_fetch_add_explicit(&n[t], 1, memory_order_relaxed) < 100);
  if (simd_sum(rounds) == 7) x[t] = simd_sum(x[t]);
}

// All lanes leave it together.
// CHECK-LABEL: {{^}}by_rounds: tier 1
// CHECK: branches that are not the same for all threads: 0
kernel void by_rounds(device float* x, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
  uint rounds = 0;
  for (uint left = n; left > 1; left = left * left % 5) ++rounds;
  if (rounds == 7) x[t] = simd_sum(x[t]);
}

// A private variable is as uniform as what is stored in it, and where.
// CHECK-LABEL: {{^}}by_private_array: tier 1
// CHECK: branches that are not the same for all threads: 0
kernel void by_private_array(device float* x, constant uint* n,
                             uint t [[thread_index_in_threadgroup]]) {
  uint kept[64];
  for (uint i = 0; i < 64; ++i) kept[i] = n[i];
  if (kept[n[0]] == 3) x[t] = simd_sum(x[t]);
}

// CHECK-LABEL: {{^}}by_private_array_of_lane: tier 2
// CHECK: uniformity.metal:[[@LINE+5]]  simd_sum  reached by some lanes only
kernel void by_private_array_of_lane(device float* x, constant uint* n,
                                     uint t [[thread_index_in_threadgroup]]) {
  uint kept[64];
  for (uint i = 0; i < 64; ++i) kept[i ^ t % 2] = n[i];
  if (kept[n[0]] == 3) x[t] = simd_sum(x[t]);
}
