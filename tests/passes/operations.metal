// Operations on whole simdgroups: straight vector code on 32 elements.
// RUN-SUM: --emit lowered -e sum
// RUN-PART: --emit lowered -e sum --shape any
// RUN-EXACT: --emit lowered -e sum --shape 8x8x1
// RUN-FIRST: --emit lowered -e first
// RUN-LANE: --emit lowered -e one_lane
// RUN-BALLOT: --emit lowered -e ballot
// RUN-INTEGER: --emit lowered -e integer_sum
// RUN-SCAN: --emit lowered -e scan
#include <metal_stdlib>
using namespace metal;

// A tree, lane i with lane i + 16, then + 8, 4, 2, 1. No call is left.
// SUM: load <32 x float>, ptr %{{[0-9]+}}, align 64
// SUM-NOT: select
// SUM: fadd <16 x float>
// SUM: fadd <8 x float>
// SUM: fadd <4 x float>
// SUM: fadd <2 x float>
// SUM: fadd <1 x float>
// SUM-NOT: fadd
// SUM-NOT: call {{.*}}__msl_
// Lanes that do not exist leave the other operand as it is.
// PART: call i64 @llvm.umin.i64(i64 %{{[0-9]+}}, i64 32)
// PART: [[EXISTS:%[0-9]+]] = icmp ult <32 x i32> <i32 0, i32 1, {{.*}}i32 31>, %
// PART: select <32 x i1> [[EXISTS]], <32 x float> %{{[0-9]+}}, <32 x float> {{.*}}-0.000000e+00
// PART: fadd <16 x float>
// A size that is a multiple of 32 has none of those.
// EXACT-NOT: umin
// EXACT-NOT: select
// EXACT: fadd <16 x float>
kernel void sum(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_sum(x[t]);
}

// A shuffle that reads one lane for all: one element, spread.
// FIRST-NOT: alloca <32
// FIRST: [[ONE:%[0-9]+]] = extractelement <32 x i32> %{{[0-9]+}}, i32 %
// FIRST: insertelement <32 x i32> poison, i32 [[ONE]], i64 0
// FIRST-NOT: extractelement
kernel void first(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_broadcast_first(x[t]);
}

// LANE: shufflevector <32 x i32> %{{[0-9]+}}, <32 x i32> poison, <32 x i32> <i32 3, i32 3
kernel void one_lane(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_shuffle(x[t], 3);
}

// A ballot is the mask itself.
// BALLOT: [[MASK:%[0-9]+]] = bitcast <32 x i1> %{{[0-9]+}} to i32
kernel void ballot(device float* x, device uint* out, uint t [[thread_index_in_threadgroup]]) {
  out[t] = uint(simd_vote::vote_t(simd_ballot(x[t] > 0)));
}

// INTEGER: add <16 x i32>
// INTEGER: add <1 x i32>
kernel void integer_sum(device uint* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_sum(x[t]);
}

// From the lowest lane to the highest: 31 additions, one after the other.
// SCAN-COUNT-31: fadd float
// SCAN-NOT: fadd
kernel void scan(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_prefix_inclusive_sum(x[t]);
}
