// set_rows_{f32,f16,bf16,q8_0}: output[indices[i]] = input[i] from float; set_rows_same_{f16,bf16}:
// from the output's type. The last row of an index wins; indices past the output are left out.
// Buffers: 0 input [n, dim], 1 indices [n], 2 output [rows, dim], 3 SetRowsArgs. Grid: a
// threadgroup of 32 threads for each row of the input.
#include "mlxn/ops/common/weights.h"
#include "mlxn/ops/index/indexed_rows_args.h"

// Whether this row of the input is to be left out. All lanes call.
inline bool is_left_out(device const uint* indices, uint i, constant SetRowsArgs& args, uint lane) {
  const uint row = indices[i];
  if (row >= args.rows) return true;
  uint later = 0;
  device const uint* own = indices + lane;
  for (uint j = (i + 1) & ~31u; j < args.count; j += 32) {
    if (j + lane < args.count && j + lane > i) later |= own[j] == row ? 1u : 0u;
  }
  return simd_max(later) != 0;
}

template <typename S, typename D>
[[kernel, max_total_threads_per_threadgroup(32)]] void set_rows(
    device const S* input [[buffer(0)]], device const uint* indices [[buffer(1)]],
    device D* output [[buffer(2)]], constant SetRowsArgs& args [[buffer(3)]],
    uint i [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (is_left_out(indices, i, args, lane)) return;
  device const S* from = input + static_cast<ulong>(i) * args.dim + lane;
  device D* to = output + static_cast<ulong>(indices[i]) * args.dim + lane;
  for (uint d = 0; d < args.dim; d += 32) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes store side by side
    if (d + lane < args.dim) to[d] = static_cast<D>(static_cast<float>(from[d]));
  }
}

[[kernel, max_total_threads_per_threadgroup(32)]] void set_rows_q8_0(
    device const float* input [[buffer(0)]], device const uint* indices [[buffer(1)]],
    device mlxn::quant::BlockQ8_0* output [[buffer(2)]], constant SetRowsArgs& args [[buffer(3)]],
    uint i [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (is_left_out(indices, i, args, lane)) return;
  device const float* from = input + static_cast<ulong>(i) * args.dim + lane;
  device mlxn::quant::BlockQ8_0* to = output + static_cast<ulong>(indices[i]) * (args.dim / 32);
  for (uint block = 0; block < args.dim / 32; ++block) {
    const float element = from[32 * block];
    const float largest = as_type<float>(simd_max(as_type<uint>(element) & 0x7fffffffu));
    const half rounded = static_cast<half>(largest / 127.0f);
    const float step = static_cast<float>(rounded);
    const float steps = step == 0.0f ? 0.0f : rint(element / step);
    to[block].codes[lane] = static_cast<char>(clamp(steps, -127.0f, 127.0f));
    if (lane == 0) to[block].scale = as_type<ushort>(rounded);
  }
}

MLXN_KERNEL("set_rows_f32", set_rows, float, float);
MLXN_KERNEL("set_rows_f16", set_rows, float, half);
MLXN_KERNEL("set_rows_bf16", set_rows, float, bfloat);
MLXN_KERNEL("set_rows_same_f16", set_rows, half, half);
MLXN_KERNEL("set_rows_same_bf16", set_rows, bfloat, bfloat);
