// Where values are that more than one region needs.
// RUN-PROLOGUE: --emit lowered -e prologue
// RUN-AGAIN: --emit lowered -e computed_again
// RUN-SLOT: --emit lowered -e lane_slot
// RUN-ONCE: --emit lowered -e uniform_value
// RUN-SIZE: --explain
// RUN-PRIVATE: --emit lowered -e private_array
// RUN-HOIST: --emit lowered -e uniform_load
// RUN-STAY: --emit lowered -e uniform_load_after_write
#include <metal_stdlib>
using namespace metal;

// Arguments and `constant` memory are read before the loops, and what follows from them is
// computed there.
// PROLOGUE: {{^}}prologue:
// PROLOGUE: [[SQUARE:%[0-9]+]] = mul i32 [[WIDTH:%[0-9]+]], [[WIDTH]]
// PROLOGUE: {{^}}start:
// PROLOGUE-COUNT-2: add i32 [[SQUARE]], %
kernel void prologue(device float* x, constant uint& width,
                     uint t [[thread_index_in_threadgroup]]) {
  float total = simd_sum(x[t + width * width]);
  x[t + width * width] = total;
}

// The address costs a few instructions and is computed in both regions. The only slot is that of
// the operand.
// AGAIN-COUNT-2: xor i32 %{{[0-9]+}}, 5
// AGAIN-NOT: getelementptr inbounds i8, ptr %context, i64 {{[1-9]}}
kernel void computed_again(device float* x, uint t [[thread_index_in_threadgroup]]) {
  float value = x[t ^ 5];
  x[t ^ 5] = simd_sum(value);
}

// A loaded value is not loaded again: its 32 elements lie side by side, for the lanes one by one
// and for the operation as a vector.
// SLOT: load <32 x float>, ptr %{{[0-9]+}}, align 64
// SLOT: {{^}}lanes:
// SLOT: [[VALUE:%[0-9]+]] = load float, ptr
// SLOT-NEXT: [[PLACE:%[0-9]+]] = getelementptr inbounds i8, ptr %context, i64 0
// SLOT-NEXT: [[ELEMENT:%[0-9]+]] = getelementptr inbounds float, ptr [[PLACE]], i64 %lane
// SLOT-NEXT: store float [[VALUE]], ptr [[ELEMENT]], align 4
// SIZE: lane_slot: tier 1
// SIZE: context: 128 bytes, and 0 for each simdgroup
kernel void lane_slot(device float* x, uint t [[thread_index_in_threadgroup]]) {
  float value = x[t];
  x[t] = value / simd_sum(value);
}

// What is uniform is one variable and computed once, before the loop over lanes.
// ONCE: [[TOTAL:%[0-9]+]] = alloca float
// ONCE: store float %{{[0-9]+}}, ptr [[TOTAL]]
// ONCE: [[READ:%[0-9]+]] = load float, ptr [[TOTAL]]
// ONCE: call float @llvm.sqrt.f32(float [[READ]])
// ONCE-NEXT: br label %[[LANES:lanes[0-9]+]]
// ONCE: {{^}}[[LANES]]:
// ONCE-NOT: sqrt.f32(
kernel void uniform_value(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = sqrt(simd_sum(x[t]));
}

// Two slots that are never alive together share a place ...
// SIZE: one_after_the_other: tier 1
// SIZE: context: 128 bytes, and 0 for each simdgroup
kernel void one_after_the_other(device float* x, device float* y,
                                uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_sum(x[t]);
  y[t] = simd_sum(y[t]);
}

// ... those that are do not.
// SIZE: together: tier 1
// SIZE: context: 256 bytes, and 0 for each simdgroup
kernel void together(device float* x, device float* y, uint t [[thread_index_in_threadgroup]]) {
  float a = x[t], b = y[t];
  float total = simd_sum(a);
  x[t] = total - simd_sum(b);
}

// Simdgroups run one after the other up to a barrier: only what outlives it is there for each.
// SIZE: over_a_barrier: tier 1
// SIZE: context: 128 bytes, and 128 for each simdgroup
kernel void over_a_barrier(device float* x, device float* y,
                           uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[1024];
  float kept = y[t];
  shared[t] = simd_sum(x[t]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[t] = shared[t ^ 32] + kept;
}

// A value each simdgroup has once.
// SIZE: shared_total_over_a_barrier: tier 1
// SIZE: context: 128 bytes, and 64 for each simdgroup
kernel void shared_total_over_a_barrier(device float* x, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[1024];
  float total = simd_sum(x[t]);
  shared[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[t] = shared[t ^ 32] + total;
}

// Not on the stack, and without a barrier one copy serves all simdgroups.
// PRIVATE: {{^}}define
// PRIVATE-NOT: alloca [64 x float]
// PRIVATE: {{^}}lane{{[0-9]*}}:
// PRIVATE: [[ALL:%[0-9]+]] = getelementptr inbounds i8, ptr %context, i64 {{[0-9]+$}}
// PRIVATE-NEXT: [[OFFSET:%[0-9]+]] = mul nuw nsw i64 %lane{{[0-9]*}}, 256
// PRIVATE-NEXT: [[OWN:%[0-9]+]] = getelementptr inbounds i8, ptr [[ALL]], i64 [[OFFSET]]
kernel void private_array(device float* x, device uint* index,
                          uint t [[thread_index_in_threadgroup]]) {
  float kept[64];
  for (uint i = 0; i < 64; ++i) kept[i] = x[t + i];
  x[t] = simd_sum(kept[index[t] % 64]);
}

// A load from a uniform address happens once, before the loop over lanes ...
// HOIST: {{^}}op.split:
// HOIST: [[FACTOR:%[0-9]+]] = load float, ptr %{{[0-9]+}}, align 4{{$}}
// HOIST: fmul float {{.*}}[[FACTOR]]
// HOIST: br label %lanes
kernel void uniform_load(device float* x, device float* y, uint t [[thread_index_in_threadgroup]]) {
  float total = simd_sum(x[t]);
  y[t + 1] = total * y[0];
}

// ... but not over a write to what may be the same memory.
// STAY: {{^}}op.split:
// STAY: br label %[[LANES:lanes[0-9]+]]
// STAY: {{^}}[[LANES]]:
// STAY: store float 1.000000e+00
// STAY: [[FACTOR:%[0-9]+]] = load float, ptr %{{[0-9]+}}, align 4, !llvm.access.group
// STAY: fmul float {{.*}}[[FACTOR]]
kernel void uniform_load_after_write(device float* x, device float* y,
                                     uint t [[thread_index_in_threadgroup]]) {
  float total = simd_sum(x[t]);
  x[t] = 1;
  y[t + 1] = total * y[0];
}
