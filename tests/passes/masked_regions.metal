// Lanes that go their own ways: each has the number of the region it waits to enter.
// RUN: --emit lowered -e sum_of_some
// RUN-FORCED: --emit lowered --tier 2 -e sum_of_all
// RUN-BARRIER: --emit lowered --tier 2 -e with_barrier
// RUN-PART: --emit lowered --shape any -e sum_of_some
#include <metal_stdlib>
using namespace metal;

// All lanes begin at 0.
// CHECK: {{^}}begin:
// CHECK: store <32 x i16> zeroinitializer, ptr %{{[0-9]+}}, align 64
// The lowest number is next.
// CHECK: {{^}}choose:
// CHECK: [[ALL:%[0-9]+]] = load <32 x i16>, ptr %{{[0-9]+}}, align 64
// CHECK-NEXT: [[LOWEST:%[0-9]+]] = call i16 @llvm.vector.reduce.umin.v32i16(<32 x i16> [[ALL]])
// CHECK-NEXT: switch i16 [[LOWEST]], label %next_simdgroup [
// CHECK-NEXT: i16 0, label %entry
// CHECK: i16 [[SUM:[0-9]+]], label %op{{$}}
// Code runs for the lanes that wait for it, which then say where they go.
// CHECK: {{^}}lanes:
// CHECK: [[OWN:%[0-9]+]] = load i16, ptr
// CHECK-NEXT: [[HERE:%[0-9]+]] = icmp eq i16 [[OWN]], 0
// CHECK-NEXT: br i1 [[HERE]], label %lane{{[0-9]*}}, label %next_lane
// CHECK: store i16 [[SUM]], ptr
// The operation is for those that wait at it; the others count as the neutral element and keep
// their values.
// CHECK: {{^}}op:
// CHECK: [[ACTIVE:%[0-9]+]] = icmp eq <32 x i16> %{{[0-9]+}}, <i16 [[SUM]], i16
// CHECK: select <32 x i1> [[ACTIVE]], <32 x float> %{{[0-9]+}}, <32 x float> <float -0.0
// CHECK: fadd <16 x float>
// CHECK: [[OLD:%[0-9]+]] = load <32 x float>, ptr
// CHECK: select <32 x i1> [[ACTIVE]], <32 x float> %{{.+}}, <32 x float> [[OLD]]
// CHECK: store <32 x i16>
// CHECK-NEXT: br label %choose
// Lanes that do not exist are done from the beginning.
// PART: {{^}}begin:
// PART: [[EXISTS:%[0-9]+]] = icmp ult <32 x i32> <i32 0, i32 1,
// PART: select <32 x i1> [[EXISTS]], <32 x i16> zeroinitializer, <32 x i16> <i16 [[DONE:[0-9]+]],
// PART: {{^}}open:
// PART: icmp ne <32 x i16> %{{[0-9]+}}, <i16 [[DONE]],
kernel void sum_of_some(device float* x, constant uint& n, uint t [[thread_index_in_threadgroup]]) {
  if (t >= n) return;
  x[t] = simd_sum(x[t]);
}

// Nothing is uniform here but what the whole threadgroup has: a total lies in a slot.
// FORCED: {{^}}choose:
// FORCED: store <32 x float>
kernel void sum_of_all(device float* x, uint t [[thread_index_in_threadgroup]]) {
  x[t] = simd_sum(x[t]);
}

// At a barrier the simdgroup rests; when all rest, those that wait there go on.
// BARRIER: {{^}}open_barriers:
// BARRIER: {{^}}open:
// BARRIER: [[AT:%[0-9]+]] = icmp eq <32 x i16> [[NOW:%[0-9]+]], <i16
// BARRIER: select <32 x i1> [[AT]], <32 x i16> <i16 {{.*}}>, <32 x i16> [[NOW]]
// BARRIER: br i1 %{{[0-9]+}}, label %phase, label %finished
kernel void with_barrier(device float* x, uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[1024];
  shared[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  x[t] = shared[t ^ 32];
}
