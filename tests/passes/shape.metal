// What code may assume about threadgroup sizes.
// RUN-FLAT: --emit lowered -e position
// RUN-ANY: --emit lowered -e position --shape any
// RUN-EXACT: --emit lowered -e position --shape 8x8x1
// RUN-ODD: --emit lowered -e position --shape 10x10x1
// RUN-UNKNOWN: --emit ir -e by_size
// RUN-KNOWN: --emit ir -e by_size --shape 64x2x1
// RUN-ROW: --explain -e by_row --shape 64x2x1
// RUN-ROWS: --explain -e by_row --shape 16x8x1
#include <metal_stdlib>
using namespace metal;

// One row, full simdgroups: no division, no partial simdgroup.
// FLAT-NOT: udiv
// FLAT-NOT: urem
// FLAT-NOT: umin
// FLAT: icmp ult i64 %{{[0-9]+}}, 32
// The width is read at run time, and the last simdgroup may be smaller.
// ANY: call i64 @llvm.umin.i64(i64 %{{[0-9]+}}, i64 32)
// ANY: udiv i32 %
// The width is known: bits instead of divisions, and two simdgroups.
// EXACT-NOT: udiv
// EXACT-NOT: umin
// EXACT: icmp ult i64 %{{[0-9]+}}, 2
// EXACT-DAG: and i32 %{{[0-9]+}}, 7
// EXACT-DAG: lshr i32 %{{[0-9]+}}, 3
// Division by a constant; 100 threads are three simdgroups and a part.
// ODD: icmp ult i64 %{{[0-9]+}}, 4
// ODD: call i64 @llvm.umin.i64(i64 %{{[0-9]+}}, i64 32)
// ODD: udiv i32 %{{[0-9]+}}, 10
kernel void position(device float* x, uint2 p [[thread_position_in_threadgroup]]) {
  x[p.y * 100 + p.x] = simd_sum(x[p.y * 100 + p.x]);
}

// A size that is known decides branches at compile time.
// UNKNOWN: icmp eq i32 %{{[0-9]+}}, 64
// KNOWN-NOT: icmp eq i32 %{{[0-9]+}}, 64
kernel void by_size(device float* x, uint2 size [[threads_per_threadgroup]],
                    uint t [[thread_index_in_threadgroup]]) {
  if (size.x == 64) x[t] = simd_sum(x[t]);
}

// Rows of whole simdgroups are uniform, shorter ones are not.
// ROW: by_row: tier 1
// ROWS: by_row: tier 2
kernel void by_row(device float* x, uint2 p [[thread_position_in_threadgroup]],
                   uint t [[thread_index_in_threadgroup]]) {
  if (p.y == 1) x[t] = simd_sum(x[t]);
}
