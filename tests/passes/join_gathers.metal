// Two fields of a structure are gathered and scattered at once, and where the addresses turn out to
// follow one another, loaded and stored.
// RUN: --emit ir --cpu x86-64-v4 -e both
// RUN-APART: --emit ir --cpu x86-64-v4 -e apart
// RUN-BETWEEN: --emit ir --cpu x86-64-v4 -e between
#include <metal_stdlib>
using namespace metal;

// CHECK: icmp eq <8 x i64> %{{.*}}, <i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56>
// CHECK: call <8 x i64> @llvm.masked.load.v8i64
// CHECK: icmp eq <8 x i64> %{{.*}}, <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
// CHECK-COUNT-2: call <8 x i64> @llvm.masked.load.v8i64
// CHECK: call <8 x i64> @llvm.masked.gather.v8i64
// CHECK: call void @llvm.masked.store.v8i64
// CHECK: call void @llvm.masked.scatter.v8i64
// CHECK-NOT: masked.gather.v16f32
// CHECK-NOT: masked.scatter.v16f32
kernel void both(device const uint* from, device const uint* to, device const float2* in,
                 device float2* out, uint i [[thread_position_in_grid]]) {
  out[to[i]] = in[from[i]].yx;
}

// Two elements between which another one lies.
// APART-COUNT-2: call <16 x float> @llvm.masked.gather.v16f32
// APART-NOT: call {{.*}}masked.gather.v16i64
kernel void apart(device const uint* from, device const float3* in, device float* out,
                  uint i [[thread_position_in_grid]]) {
  out[i] = in[from[i]].x - in[from[i]].z;
}

// What is written between two loads may be what the second one loads.
// BETWEEN: call <16 x float> @llvm.masked.gather.v16f32
// BETWEEN: masked.scatter
// BETWEEN: call <16 x float> @llvm.masked.gather.v16f32
kernel void between(device const uint* from, device const uint* to, device const float2* in,
                    device float* out, device float* sums, uint i [[thread_position_in_grid]]) {
  uint place = from[i];
  float x = in[place].x;
  out[to[i]] = x;
  sums[i] = x + in[place].y;
}
