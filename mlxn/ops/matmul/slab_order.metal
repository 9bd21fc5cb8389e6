// slab_order: rows in the order of their ids, those with the same id in their own order, those
// without a slab last. Buffers: 0 ids [rows], 1 order [rows], 2 SlabOrderArgs. Grid: threadgroups
// of 64 threads, a thread for each slab and one more. Each thread reads all ids: first it counts
// the smaller ones, then it puts its rows behind them.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/matmul/slab_order_args.h"

[[kernel, max_total_threads_per_threadgroup(kSlabOrderThreads)]] void slab_order(
    device const uint* ids [[buffer(0)]], device uint* order [[buffer(1)]],
    constant SlabOrderArgs& args [[buffer(2)]], uint slab [[thread_position_in_grid]]) {
  uint place = 0;
  for (uint i = 0; i < args.rows; ++i) place += min(ids[i], args.slabs) < slab ? 1 : 0;
  for (uint i = 0; i < args.rows; ++i) {
    if (slab <= args.slabs && min(ids[i], args.slabs) == slab) order[place++] = i;
  }
}
