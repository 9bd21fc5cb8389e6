// rms_norm_quantise_f32: rms_norm of rows, rounded to 8 bits, with the bits of rms_norm followed by
// quantise_rows. Buffers: 0 input [rows, dim], 1 weight [dim], 2 output, 3 RmsNormQuantiseArgs.
// add_rms_norm_quantise_f32: sum = a + b and the same of the sum, with the bits of add_rms_norm
// followed by quantise_rows. Buffers: 0 a, 1 b, 2 weight, 3 sum, 4 output, 5 RmsNormQuantiseArgs.
// Grid: one threadgroup for each row. Threadgroup memory 0: a float for each thread.
#include "mlxn/ops/common/rounded_block.h"
#include "mlxn/ops/norm/rms_norm_quantise_args.h"
#include "mlxn/ops/norm/row_norm.h"

// Rounds the norm of a row, whose elements all threads of the threadgroup see by now: each
// simdgroup takes a block at a time.
inline void store_rounded_norm(device const float* input, device const float* weight,
                               device int* output, constant RmsNormQuantiseArgs& args, uint number,
                               float inverse, Place place) {
  const RoundedRow row(output, number, args.rows, args.blocks, args.tile);
  const ulong begin = static_cast<ulong>(number) * args.blocks;
  for (uint b = place.simdgroup; b < args.blocks; b += place.simdgroups) {
    const float x = (input + (begin + b) * kRoundedBlock)[place.lane];
    const float w = (weight + b * kRoundedBlock)[place.lane];
    store_rounded(normalized(x, inverse, w), row, b, place.lane);
  }
}

[[kernel]] void rms_norm_quantise_f32(
    device const float* input [[buffer(0)]], device const float* weight [[buffer(1)]],
    device int* output [[buffer(2)]], constant RmsNormQuantiseArgs& args [[buffer(3)]],
    threadgroup float* scratch [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint dim = args.blocks * kRoundedBlock;
  const Row row = {static_cast<ulong>(group) * dim, dim, thread_index, threads};
  const Place place = {lane, simdgroup, simdgroups};
  const float inverse = inverse_rms(input, row, args.eps, scratch, place);
  store_rounded_norm(input, weight, output, args, group, inverse, place);
}

[[kernel]] void add_rms_norm_quantise_f32(
    device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
    device const float* weight [[buffer(2)]], device float* total [[buffer(3)]],
    device int* output [[buffer(4)]], constant RmsNormQuantiseArgs& args [[buffer(5)]],
    threadgroup float* scratch [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  const uint dim = args.blocks * kRoundedBlock;
  const Row row = {static_cast<ulong>(group) * dim, dim, thread_index, threads};
  for (uint i = row.first; i < row.dim; i += row.step) {
    total[row.begin + i] = sum(a[row.begin + i], b[row.begin + i]);
  }
  const Place place = {lane, simdgroup, simdgroups};
  const float inverse = inverse_rms<float>(total, row, args.eps, scratch, place);
  threadgroup_barrier(mem_flags::mem_device);
  store_rounded_norm(total, weight, output, args, group, inverse, place);
}
