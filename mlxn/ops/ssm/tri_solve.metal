// tri_solve_{f32,f16,bf16}: X = L \ B with ones on L's diagonal. Buffers: 0 L [batch, n, n],
// 1 B [batch, n, m], 2 X [batch, n, m], 3 TriSolveArgs. Grid: a thread for each column, (m, batch);
// any threadgroup of one row. X may be B.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/ssm/tri_solve_args.h"

template <typename T>
[[kernel]] void tri_solve(device const T* matrix [[buffer(0)]], device const T* right [[buffer(1)]],
                          device T* output [[buffer(2)]], constant TriSolveArgs& args [[buffer(3)]],
                          uint2 place [[thread_position_in_grid]]) {
  const uint n = args.size, m = args.columns;
  device const T* l = matrix + static_cast<ulong>(place.y) * n * n;
  device const T* b = right + static_cast<ulong>(place.y) * n * m + place.x;
  device T* x = output + static_cast<ulong>(place.y) * n * m + place.x;
  for (uint i = 0; i < n; ++i) {
    device const T* row = l + static_cast<ulong>(i) * n;
    Accumulator sum = 0;
    for (uint j = 0; j < i; ++j) {
      sum += static_cast<float>(row[j]) * static_cast<float>(x[static_cast<ulong>(j) * m]);
    }
    const ulong at = static_cast<ulong>(i) * m;
    x[at] = static_cast<T>(static_cast<float>(b[at]) - static_cast<float>(sum));
  }
}

MLXN_KERNEL("tri_solve_f32", tri_solve, float);
MLXN_KERNEL("tri_solve_f16", tri_solve, half);
MLXN_KERNEL("tri_solve_bf16", tri_solve, bfloat);
