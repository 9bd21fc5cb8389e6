// rms_norm_{f32,f16,bf16}: output = input * rsqrt(mean(input^2) + eps) * weight, row by row.
// Buffers: 0 input [rows, dim], 1 weight [dim], 2 output [rows, dim], 3 RmsNormArgs.
// rms_norm_mul_{f32,f16,bf16}: the same times scale [rows, dim], with the bits of a norm followed
// by elementwise_mul.
// Buffers: 0 input, 1 weight, 2 scale, 3 output, 4 RmsNormArgs.
// add_rms_norm_{f32,f16,bf16}: sum = a + b and the norm of the sum, with the bits of
// elementwise_add followed by a norm. Buffers: 0 a, 1 b, 2 weight, 3 sum, 4 output, 5 RmsNormArgs.
// Grid: one threadgroup for each row. Threadgroup memory 0: a float for each thread. Computed in
// float, rounded to the storage type once for each of the steps. The weight of f16 is f32. In
// place is allowed.
#include "mlxn/ops/norm/rms_norm_args.h"
#include "mlxn/ops/norm/row_norm.h"

template <typename T, typename W>
[[kernel]] void rms_norm(device const T* input [[buffer(0)]], device const W* weight [[buffer(1)]],
                         device T* output [[buffer(2)]], constant RmsNormArgs& args [[buffer(3)]],
                         threadgroup float* scratch [[threadgroup(0)]],
                         uint group [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_position_in_threadgroup]],
                         uint threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint dim = static_cast<uint>(args.dim);
  const Row row = {static_cast<ulong>(group) * dim, dim, thread_index, threads};
  const float inverse =
      inverse_rms(input, row, args.eps, scratch, Place{lane, simdgroup, simdgroups});
  for (uint i = row.first; i < row.dim; i += row.step) {
    output[row.begin + i] = normalized(input[row.begin + i], inverse, weight[i]);
  }
}

template <typename T, typename W>
[[kernel]] void rms_norm_mul(
    device const T* input [[buffer(0)]], device const W* weight [[buffer(1)]],
    device const T* scale [[buffer(2)]], device T* output [[buffer(3)]],
    constant RmsNormArgs& args [[buffer(4)]], threadgroup float* scratch [[threadgroup(0)]],
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint dim = static_cast<uint>(args.dim);
  const Row row = {static_cast<ulong>(group) * dim, dim, thread_index, threads};
  const float inverse =
      inverse_rms(input, row, args.eps, scratch, Place{lane, simdgroup, simdgroups});
  for (uint i = row.first; i < row.dim; i += row.step) {
    const T norm = normalized(input[row.begin + i], inverse, weight[i]);
    output[row.begin + i] = product(norm, scale[row.begin + i]);
  }
}

// Every thread reads of the sum what it wrote itself.
template <typename T, typename W>
[[kernel]] void add_rms_norm(
    device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
    device const W* weight [[buffer(2)]], device T* total [[buffer(3)]],
    device T* output [[buffer(4)]], constant RmsNormArgs& args [[buffer(5)]],
    threadgroup float* scratch [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint dim = static_cast<uint>(args.dim);
  const Row row = {static_cast<ulong>(group) * dim, dim, thread_index, threads};
  for (uint i = row.first; i < row.dim; i += row.step) {
    total[row.begin + i] = sum(a[row.begin + i], b[row.begin + i]);
  }
  const float inverse =
      inverse_rms<T>(total, row, args.eps, scratch, Place{lane, simdgroup, simdgroups});
  for (uint i = row.first; i < row.dim; i += row.step) {
    output[row.begin + i] = normalized(total[row.begin + i], inverse, weight[i]);
  }
}

MLXN_KERNEL("rms_norm_f32", rms_norm, float, float);
MLXN_KERNEL("rms_norm_f16", rms_norm, half, float);
MLXN_KERNEL("rms_norm_bf16", rms_norm, bfloat, bfloat);
MLXN_KERNEL("rms_norm_mul_f32", rms_norm_mul, float, float);
MLXN_KERNEL("rms_norm_mul_f16", rms_norm_mul, half, float);
MLXN_KERNEL("rms_norm_mul_bf16", rms_norm_mul, bfloat, bfloat);
MLXN_KERNEL("add_rms_norm_f32", add_rms_norm, float, float);
MLXN_KERNEL("add_rms_norm_f16", add_rms_norm, half, float);
MLXN_KERNEL("add_rms_norm_bf16", add_rms_norm, bfloat, bfloat);
