// attention_blocks_{f32,f16,bf16,bool}: what sdpa has to know of each block of 32 x 32 cells of a
// mask: 0 when it hides all of them, 2 when it changes none, 1 otherwise. Buffers: 0 mask [rows,
// columns], 1 blocks [rows / 32, columns / 32, rounded up], 2 AttentionBlocksArgs. Grid:
// threadgroups of 32 threads, (block columns, block rows).
#include "mlxn/ops/attention/attention_blocks_args.h"
#include "mlxn/ops/common/kernel.h"

// Cells by their bits: what hides a key, and what lets it through as it is.
template <typename T, uint Infinity, uint Magnitude>
struct FloatCell {
  using Bits = T;
  static bool hides(T bits) { return bits == Infinity; }
  static bool passes(T bits) { return (bits & Magnitude) == 0; }
};
using CellF32 = FloatCell<uint, 0xff800000, 0x7fffffff>;
using CellF16 = FloatCell<ushort, 0xfc00, 0x7fff>;
using CellBf16 = FloatCell<ushort, 0xff80, 0x7fff>;
struct CellBool {
  using Bits = uchar;
  static bool hides(uchar cell) { return cell == 0; }
  static bool passes(uchar cell) { return cell != 0; }
};

template <typename Cell>
[[kernel, max_total_threads_per_threadgroup(kMaskBlock)]] void attention_blocks(
    device const typename Cell::Bits* mask [[buffer(0)]], device uchar* blocks [[buffer(1)]],
    constant AttentionBlocksArgs& args [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint first = group.y * kMaskBlock, column = group.x * kMaskBlock;
  const bool inside = column + lane < args.columns;
  device const typename Cell::Bits* cells =
      mask + static_cast<ulong>(first) * args.columns + column;
  uint hidden = 1, passed = 1;
  for (uint row = 0; row < min(kMaskBlock, args.rows - first); ++row) {
    device const typename Cell::Bits* own = cells + static_cast<ulong>(row) * args.columns;
    if (!inside) continue;
    hidden &= Cell::hides(own[lane]) ? 1 : 0;
    passed &= Cell::passes(own[lane]) ? 1 : 0;
  }
  hidden = simd_min(hidden);
  passed = simd_min(passed);
  if (lane == 0) {
    blocks[static_cast<ulong>(group.y) * args.block_columns + group.x] =
        static_cast<uchar>(hidden != 0   ? 0
                           : passed != 0 ? 2
                                         : 1);
  }
}

MLXN_KERNEL("attention_blocks_f32", attention_blocks, CellF32);
MLXN_KERNEL("attention_blocks_f16", attention_blocks, CellF16);
MLXN_KERNEL("attention_blocks_bf16", attention_blocks, CellBf16);
MLXN_KERNEL("attention_blocks_bool", attention_blocks, CellBool);
