// Pointers that all lanes move along together.
// RUN: --emit lowered --cpu x86-64-v4 -e rows
// RUN-IR: --emit ir --cpu x86-64-v4 -e rows
// RUN-APART: --emit lowered --cpu x86-64-v4 -e apart
// RUN-OWN: --emit lowered --cpu x86-64-v4 -e own_step
#include <metal_stdlib>
using namespace metal;

// One pointer is carried round; where a lane loads is seen to be beside its neighbours.
// CHECK: alloca ptr
// CHECK-NOT: alloca [32 x ptr]
// IR-NOT: masked.gather
// IR: load <{{16|32}} x float>
kernel void rows(device const float* in, device float* out, constant uint& n, constant uint& rows,
                 uint lane [[thread_index_in_simdgroup]]) {
  device const float* row = in + lane;
  float sum = 0;
  for (uint i = 0; i < rows; ++i) {
    sum += simd_sum(*row * *row);
    row += n;
  }
  out[lane] = sum;
}

// Lanes begin at places of which nothing is known.
// APART: alloca [32 x ptr]
kernel void apart(device const float* in, device const uint* place, device float* out,
                  constant uint& n, constant uint& rows, uint lane [[thread_index_in_simdgroup]]) {
  device const float* row = in + place[lane];
  float sum = 0;
  for (uint i = 0; i < rows; ++i) {
    sum += simd_sum(*row * *row);
    row += n;
  }
  out[lane] = sum;
}

// Lanes move by different steps.
// OWN: alloca [32 x ptr]
kernel void own_step(device const float* in, device float* out, constant uint& n,
                     constant uint& rows, uint lane [[thread_index_in_simdgroup]]) {
  device const float* row = in + lane;
  float sum = 0;
  for (uint i = 0; i < rows; ++i) {
    sum += simd_sum(*row * *row);
    row += n + (lane & 1);
  }
  out[lane] = sum;
}
