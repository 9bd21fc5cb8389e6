// gather_{u8,u16,u32}: output[i] = source[indices[i]], bit for bit; zeros or the last row for an
// index past the source. Buffers: 0 source [rows, dim], 1 indices [n], 2 output [n, dim],
// 3 GatherArgs. Grid: a thread for each element, (dim, n); any threadgroup of one row.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/index/indexed_rows_args.h"

template <typename T>
[[kernel]] void gather(device const T* source [[buffer(0)]],
                       device const uint* indices [[buffer(1)]], device T* output [[buffer(2)]],
                       constant GatherArgs& args [[buffer(3)]],
                       uint2 place [[thread_position_in_grid]]) {
  ulong row = indices[place.y];
  if (args.clamp == 1) row = min(row, args.rows - 1);
  T value = 0;
  if (row < args.rows) value = (source + row * args.dim)[place.x];
  (output + static_cast<ulong>(place.y) * args.dim)[place.x] = value;
}

MLXN_KERNEL("gather_u8", gather, uchar);
MLXN_KERNEL("gather_u16", gather, ushort);
MLXN_KERNEL("gather_u32", gather, uint);
