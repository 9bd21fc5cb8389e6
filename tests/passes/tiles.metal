// Matrices of a simdgroup.
// RUN: --emit lowered -e product
// RUN-SUM: --emit lowered -e sum_of_products
// RUN-SIZE: --explain -e product
#include <metal_stdlib>
using namespace metal;

// A product is 32 operations on 4x4 blocks, one rounding for each k.
// CHECK-COUNT-32: call <16 x float> @llvm.fma.v16f32
// CHECK-NOT: call <16 x float> @llvm.fma.v16f32
// Whole matrices pass from load to product to store: lanes keep nothing.
// SIZE: context: 0 bytes, and 0 for each simdgroup
kernel void product(device const float* a, device const float* b, device float* c) {
  simdgroup_float8x8 x, y, z;
  simdgroup_load(x, a, 8);
  simdgroup_load(y, b, 8);
  simdgroup_load(z, c, 8);
  simdgroup_multiply_accumulate(z, x, y, z);
  simdgroup_store(z, c, 8);
}

// A matrix that a loop carries round is a variable of the simdgroup, as are those it loads.
// SUM: store <64 x float> %{{[0-9]+}}, ptr [[X:%[0-9]+]]
// SUM: store <64 x float> %{{[0-9]+}}, ptr [[Y:%[0-9]+]]
// SUM: load <64 x float>, ptr [[X]]
// SUM: load <64 x float>, ptr [[Y]]
// SUM: load <64 x float>, ptr [[Z:%[0-9]+]]
// SUM: call <16 x float> @llvm.fma.v16f32
// SUM: store <64 x float> zeroinitializer, ptr [[Z]]
kernel void sum_of_products(device const float* a, device const float* b, device float* c,
                            constant uint& n, uint s [[simdgroup_index_in_threadgroup]]) {
  simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8, 8>(0);
  for (uint k = 0; k < n; k += 8) {
    simdgroup_load(x, a + k, n);
    simdgroup_load(y, b + k * n, n);
    simdgroup_multiply_accumulate(z, x, y, z);
  }
  simdgroup_store(z, c + s * 64, 8);
}
