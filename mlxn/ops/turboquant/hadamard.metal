// hadamard_{f32,f16,bf16}: each row times the Walsh-Hadamard matrix in the order of butterflies,
// scaled by 1 / sqrt(dim); with the signs of signs.h before or after. Buffers: 0 input [rows, dim],
// 1 output [rows, dim], 2 HadamardArgs. Grid: a threadgroup for each row, of whole simdgroups.
// Threadgroup memory 0: a row of floats. Computed in float, rounded once. In place is allowed.
#include "mlxn/ops/turboquant/hadamard_args.h"
#include "mlxn/ops/turboquant/hadamard_row.h"

template <typename T>
[[kernel]] void hadamard(device const T* input [[buffer(0)]], device T* output [[buffer(1)]],
                         constant HadamardArgs& args [[buffer(2)]],
                         threadgroup float* row [[threadgroup(0)]],
                         uint group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
  device const T* x = input + static_cast<ulong>(group) * args.dim;
  device T* y = output + static_cast<ulong>(group) * args.dim;
  const uint step = simdgroups * 32;
  for (uint i = simdgroup * 32; i < args.dim; i += step) {
    if (i + lane >= args.dim) continue;
    float value = static_cast<float>((x + i)[lane]);
    if (args.signs_before != 0) value *= sign_of(i + lane);
    (row + i)[lane] = value;
  }
  hadamard_row(row, args.dim, Worker{lane, simdgroup, simdgroups});
  for (uint i = simdgroup * 32; i < args.dim; i += step) {
    if (i + lane >= args.dim) continue;
    float value = (row + i)[lane];
    if (args.signs_after != 0) value *= sign_of(i + lane);
    (y + i)[lane] = static_cast<T>(value);
  }
}

MLXN_KERNEL("hadamard_f32", hadamard, float);
MLXN_KERNEL("hadamard_f16", hadamard, half);
MLXN_KERNEL("hadamard_bf16", hadamard, bfloat);
