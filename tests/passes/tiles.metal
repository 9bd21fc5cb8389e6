// Matrices of a simdgroup.
// RUN: --emit lowered -e product
// RUN-SUM: --emit lowered -e sum_of_products
// RUN-SIZE: --explain -e product
// RUN-LANES: --emit lowered --cpu x86-64-v4 -e lanes_load
// RUN-NARROW: --emit lowered --cpu x86-64-v3 -e lanes_load
// RUN-PLACE: --explain -e sum_over_barriers
// RUN-ODD: --emit lowered -e lanes_load_elsewhere
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

// A matrix that a loop carries round, and leaves it with, is a value of the simdgroup, as are those
// it loads; no lane sees it.
// SUM: [[Z:%.+]] = phi <64 x float> [ {{.*}} ], [ zeroinitializer,
// SUM-COUNT-32: call <16 x float> @llvm.fma.v16f32
// SUM: phi <64 x float> [ {{.*}} ], [ zeroinitializer,
// SUM-COUNT-8: store <8 x float>
// SUM-NOT: store
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

static simdgroup_float8x8 matrix_of(float first, float second) {
  simdgroup_float8x8 result;
  result.thread_elements()[0] = first;
  result.thread_elements()[1] = second;
  return result;
}

// Each lane fetches its own elements, row by row on the left, turned on the right; in memory they
// are matrices, so rows are loaded. Four sums that share operands, two by two, are made in a loop
// of 4 x 4 x 4 operations a round, two rounds for each of two products.
// LANES-COUNT-64: load <8 x float>, ptr
// LANES-NOT: load
// LANES: products:
// LANES: [[HALF:%.+]] = phi i64 [ 0,
// LANES-COUNT-16: phi <16 x float>
// LANES-COUNT-64: call <16 x float> @llvm.fma.v16f32
// LANES-NOT: llvm.fma
// LANES: icmp ult i64 {{.*}}, 4
// LANES-NEXT: br i1
// 16 registers are too few for that: products stay by themselves.
// NARROW-NOT: products:
// NARROW-COUNT-256: call <16 x float> @llvm.fma.v16f32
kernel void lanes_load(device const float* in, device float* out,
                       uint index [[thread_index_in_threadgroup]]) {
  threadgroup float a[16 * 20], b[16 * 24];
  for (uint i = index; i < 320; i += 32) a[i] = in[i];
  for (uint i = index; i < 384; i += 32) b[i] = in[320 + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  ushort lane = index % 32;
  short row = (lane / 16) * 4 + lane / 2 % 4, column = lane / 8 % 2 * 4 + lane % 2 * 2;
  simdgroup_float8x8 sum[2][2] = {};
  for (short k = 0; k < 16; k += 8)
    for (short i = 0; i < 2; ++i)
      for (short j = 0; j < 2; ++j) {
        threadgroup const float* x = a + (row + 8 * i) * 20 + column + k;
        threadgroup const float* y = b + (column + 8 * j) * 24 + row + k;
        simdgroup_multiply_accumulate(sum[i][j], matrix_of(x[0], x[1]), matrix_of(y[0], y[24]),
                                      sum[i][j]);
      }
  for (short i = 0; i < 4; ++i) simdgroup_store(sum[i / 2][i % 2], out + i * 64, 8);
}

// One lane's elements lie elsewhere: every lane loads for itself.
// ODD-NOT: load <8 x float>
// ODD: call <16 x float> @llvm.fma.v16f32
kernel void lanes_load_elsewhere(device const float* in, device float* out,
                                 uint lane [[thread_index_in_simdgroup]]) {
  ushort row = (lane / 16) * 4 + lane / 2 % 4, column = lane / 8 % 2 * 4 + lane % 2 * 2;
  device const float* x = in + row * 8 + column + (lane == 31 ? 2 : 0);
  simdgroup_float8x8 a = matrix_of(x[0], x[1]);
  simdgroup_multiply(a, a, a);
  simdgroup_store(a, out, 8);
}

// A sum that a loop carries over barriers lies in one place: nothing is copied when a round ends.
// PLACE: context: {{[0-9]+}} bytes, and 256 for each simdgroup
kernel void sum_over_barriers(device const float* in, device float* out, constant uint& n,
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint s [[simdgroup_index_in_threadgroup]]) {
  threadgroup float tile[64];
  simdgroup_float8x8 x, sum = make_filled_simdgroup_matrix<float, 8, 8>(0);
  for (uint k = 0; k < n; ++k) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (thread_index < 64) tile[thread_index] = in[64 * k + thread_index];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(x, tile, 8);
    simdgroup_multiply_accumulate(sum, x, x, sum);
  }
  simdgroup_store(sum, out + 64 * s, 8);
}
