// argmax_f32: the lowest index of each row's largest element; NaN is never the largest.
// Buffers: 0 input [rows, dim], 1 indices [rows], 2 ArgmaxArgs, 3 values [rows], which are not
// touched without has_values. Grid: one threadgroup for each row.
// Threadgroup memory 0: a float for each thread. No pair of value and index is compared: every
// thread notes in which stretch of the row it met its largest value, and the lowest place is looked
// for in the lowest such stretch alone.
#include "mlxn/ops/common/row_kernel.h"
#include "mlxn/ops/sample/argmax_args.h"

// A stretch are so many elements of each thread.
constant constexpr uint kRounds = 64;

struct Largest {
  device const float* x;
  float most;
  void operator()(ulong i) { most = x[i] > most ? x[i] : most; }
};

struct LowestEqual {
  device const float* x;
  float most;
  uint at;
  void operator()(ulong i) { at = x[i] == most ? min(at, static_cast<uint>(i)) : at; }
};

inline uint threadgroup_min(uint value, threadgroup uint* scratch, Place place) {
  value = simd_min(value);
  if (place.lane == 0) scratch[place.simdgroup] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint least = scratch[0];
  for (uint i = 1; i < place.simdgroups; ++i) least = min(least, scratch[i]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return least;
}

[[kernel]] void argmax_f32(device const float* input [[buffer(0)]],
                           device uint* indices [[buffer(1)]],
                           constant ArgmaxArgs& args [[buffer(2)]],
                           device float* values [[buffer(3)]], MLXN_ROW_ARGUMENTS) {
  const Place place = MLXN_ROW_PLACE;
  device const float* row = input + static_cast<ulong>(group) * args.dim;
  const uint stretch = kRounds * step;
  Largest own = {row, -INFINITY};
  uint met = 0;
  for (ulong begin = 0; begin < args.dim; begin += stretch) {
    const float before = own.most;
    own.x = row + begin;
    for_each(static_cast<uint>(min(static_cast<ulong>(stretch), args.dim - begin)), first, step,
             own);
    met = own.most > before ? static_cast<uint>(begin) : met;
  }
  const float most = threadgroup_max(own.most, scratch, place);
  threadgroup uint* lowest = reinterpret_cast<threadgroup uint*>(scratch);
  uint begin = threadgroup_min(own.most == most ? met : args.dim, lowest, place);
  uint count = min(stretch, args.dim - begin);
  if (most == -INFINITY) {  // which is larger than nothing: anywhere among NaN
    begin = 0;
    count = args.dim;
  }
  LowestEqual equal = {row + begin, most, count};
  for_each(count, first, step, equal);
  const uint at = threadgroup_min(equal.at, lowest, place);
  if (first != 0) return;
  indices[group] = at < count ? begin + at : 0;  // none stands anywhere in a row of NaN alone
  if (args.has_values != 0) values[group] = most;
}
