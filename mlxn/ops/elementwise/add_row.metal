// add_row_{f32,f16,bf16}: output[r][i] = input[r][i] + row[i].
// Buffers: 0 input, 1 row, 2 output, 3 AddRowArgs. Grid: dim x rows threads, threadgroups of one
// row. In place is allowed. Rounded once.
#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/elementwise/add_row_args.h"

template <typename T>
[[kernel]] void add_row(device const T* input [[buffer(0)]], device const T* row [[buffer(1)]],
                        device T* output [[buffer(2)]], constant AddRowArgs& args [[buffer(3)]],
                        uint2 at [[thread_position_in_grid]]) {
  if (at.x >= args.dim || at.y >= args.rows) return;
  const ulong i = static_cast<ulong>(at.y) * args.dim + at.x;
  output[i] = sum(input[i], row[at.x]);
}

MLXN_KERNEL("add_row_f32", add_row, float);
MLXN_KERNEL("add_row_f16", add_row, half);
MLXN_KERNEL("add_row_bf16", add_row, bfloat);
