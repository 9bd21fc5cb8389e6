// Where a kernel is cut, and what control flow remains once.
// RUN-PHASES: --emit lowered -e phases
// RUN-LOOP: --emit lowered -e loop_with_barrier
// RUN-CHOICE: --emit lowered -e choice
// RUN-SHARED: --emit lowered -e shared_block
// RUN-GUARD: --explain -e early_return
// RUN-EARLY: --explain -e early_return_before_sum
#include <metal_stdlib>
using namespace metal;

// Each barrier ends a loop over simdgroups, an operation does not.
// PHASES-COUNT-3: {{^}}simdgroups{{[0-9]*}}:
// PHASES-NOT: {{^}}simdgroups{{[0-9]*}}:
kernel void phases(device float* x, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[1024];
  shared[t] = simd_sum(x[t]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float other = shared[t ^ 32];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[t] = other;
}

// The loop is outside the loops over simdgroups: its counter is one variable, the decision to go
// round again is taken once and leads back to a phase.
// LOOP: {{^}}prologue:
// LOOP: [[COUNTER:%[0-9]+]] = alloca i32
// LOOP: {{^}}phase{{[0-9]*}}:{{.*}} preds = %next_simdgroup{{[0-9]+}}, %next_simdgroup
// LOOP: br i1 %{{[0-9]+}}, label %simdgroups{{[0-9]+}}, label %[[FIRST:op[0-9]*]]
// LOOP: {{^}}[[FIRST]]:
// LOOP-NEXT: br label %phase
// LOOP: br i1 %{{[0-9]+}}, label %simdgroups{{[0-9]+}}, label %[[SECOND:op[0-9]*]]
// LOOP: {{^}}[[SECOND]]:
// LOOP-NEXT: br label %phase
// LOOP: br i1 %{{[0-9]+}}, label %simdgroups{{[0-9]+}}, label %[[AGAIN:branch[0-9]+]]
// LOOP: {{^}}[[AGAIN]]:
// LOOP: [[NEXT:%[0-9]+]] = add nuw i32
// LOOP-NEXT: [[MORE:%[0-9]+]] = icmp ult i32 [[NEXT]]
// LOOP-NEXT: br i1 [[MORE]], label %phase{{[0-9]+}}, label %phase
kernel void loop_with_barrier(device float* x, constant uint& n,
                              uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[1024];
  for (uint i = 0; i < n; ++i) {
    shared[t] = x[t] + i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = shared[t ^ 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

// One branch for all lanes, and one phase.
// CHOICE-COUNT-1: {{^}}simdgroups{{[0-9]*}}:
// CHOICE: {{^}}branch:
// CHOICE-NEXT: br i1 %{{[0-9]+}}, label %{{.+}}, label %
// CHOICE-DAG: fadd <16 x float>
// CHOICE-DAG: fcmp ogt <16 x float>
// CHOICE-NOT: {{^}}simdgroups{{[0-9]*}}:
kernel void choice(device float* x, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
  if (n == 1)
    x[t] = simd_sum(x[t]);
  else
    x[t] = simd_max(x[t]);
}

// What both ways lead to begins a region of its own: its code is there once, not behind each way.
// SHARED: fmul float
// SHARED-NOT: fmul float
kernel void shared_block(device float* x, constant uint& n,
                         uint t [[thread_index_in_threadgroup]]) {
  float value = x[t];
  if (n == 1) value = simd_sum(value);
  x[t] = value * value;
}

// Lanes may leave when no operation follows.
// GUARD: early_return: tier 1
kernel void early_return(device float* x, constant uint& n,
                         uint t [[thread_index_in_threadgroup]]) {
  float total = simd_sum(x[t]);
  if (t >= n) return;
  x[t] = total;
}

// EARLY: early_return_before_sum: tier 2
// EARLY-NEXT: not tier 1: a cross-lane operation behind a branch that differs between lanes
kernel void early_return_before_sum(device float* x, constant uint& n,
                                    uint t [[thread_index_in_threadgroup]]) {
  if (t >= n) return;
  x[t] = simd_sum(x[t]);
}
