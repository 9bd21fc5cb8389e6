// Matrices of a simdgroup.
// RUN: --emit lowered -e product
#include <metal_stdlib>
using namespace metal;

// A product is 32 operations on 4x4 blocks, one rounding for each k.
// CHECK-COUNT-32: call <16 x float> @llvm.fma.v16f32
// CHECK-NOT: call <16 x float> @llvm.fma.v16f32
kernel void product(device const float* a, device const float* b, device float* c) {
  simdgroup_float8x8 x, y, z;
  simdgroup_load(x, a, 8);
  simdgroup_load(y, b, 8);
  simdgroup_load(z, c, 8);
  simdgroup_multiply_accumulate(z, x, y, z);
  simdgroup_store(z, c, 8);
}
