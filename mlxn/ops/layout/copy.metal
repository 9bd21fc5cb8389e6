// copy_{u8,u16,u32}: destination[i] = source[i] over up to four dimensions, each with its own
// strides; copy_from_{f32,f16,bf16}_{f32,f16,bf16}: the same with another type, rounded once.
// Buffers: 0 source, 1 destination, 2 CopyArgs. Grid: a thread for each element, (sizes[3],
// sizes[2], sizes[0] * sizes[1]); any threadgroup.
// copy_tiles_...: where neighbours in the source lie along dimension 2 and in the destination along
// dimension 3 (their strides are 1): tiles of 64 x 64 turned in threadgroup memory. Grid:
// threadgroups of a multiple of 32 threads, (sizes[3] / 64, sizes[2] / 64, sizes[0] * sizes[1]).
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/layout/strided_copy_args.h"

template <typename D, typename S>
struct Converted {
  static D of(S value) { return static_cast<D>(static_cast<float>(value)); }
};
template <typename T>
struct Converted<T, T> {
  static T of(T value) { return value; }
};

// Where the rows at indices 0 and 1 of the outer dimensions begin.
inline ulong source_row(constant CopyArgs& args, uint outer) {
  const ulong i = outer / args.sizes[1], j = outer % args.sizes[1];
  return args.source_offset + i * args.source_strides[0] + j * args.source_strides[1];
}
inline ulong destination_row(constant CopyArgs& args, uint outer) {
  const ulong i = outer / args.sizes[1], j = outer % args.sizes[1];
  return args.destination_offset + i * args.destination_strides[0] +
         j * args.destination_strides[1];
}

template <typename S, typename D>
[[kernel]] void copy(device const S* source [[buffer(0)]], device D* destination [[buffer(1)]],
                     constant CopyArgs& args [[buffer(2)]],
                     uint3 place [[thread_position_in_grid]]) {
  device const S* from = source + (source_row(args, place.z) + place.y * args.source_strides[2]);
  device D* to =
      destination + (destination_row(args, place.z) + place.y * args.destination_strides[2]);
  const uint x = place.x;
  if (args.source_strides[3] == 1 && args.destination_strides[3] == 1) {
    to[x] = Converted<D, S>::of(from[x]);
  } else {
    to[x * args.destination_strides[3]] = Converted<D, S>::of(from[x * args.source_strides[3]]);
  }
}

template <typename S, typename D>
[[kernel]] void copy_tiles(device const S* source [[buffer(0)]],
                           device D* destination [[buffer(1)]],
                           constant CopyArgs& args [[buffer(2)]],
                           uint3 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]],
                           uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup S tile[kCopyTile][kCopyTile + 1];  // one more: columns in banks of their own
  const uint rows = args.sizes[2], columns = args.sizes[3];
  const uint row = group.y * kCopyTile, column = group.x * kCopyTile;
  device const S* from =
      source + (source_row(args, group.z) + row + column * args.source_strides[3]);
  const uint tile_rows = min(kCopyTile, rows - row);
  const uint tile_columns = min(kCopyTile, columns - column);
  for (uint c = simdgroup; c < tile_columns; c += simdgroups) {
    for (uint half_row = 0; half_row < kCopyTile; half_row += 32) {
      const uint r = half_row + lane;
      if (r < tile_rows) tile[c][r] = (from + c * args.source_strides[3])[r];
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device D* to =
      destination + (destination_row(args, group.z) + row * args.destination_strides[2] + column);
  for (uint r = simdgroup; r < tile_rows; r += simdgroups) {
    for (uint half_row = 0; half_row < kCopyTile; half_row += 32) {
      const uint c = half_row + lane;
      if (c < tile_columns) {
        (to + r * args.destination_strides[2])[c] = Converted<D, S>::of(tile[c][r]);
      }
    }
  }
}

#define MLXN_COPIES(name, S, D)           \
  MLXN_KERNEL("copy_" #name, copy, S, D); \
  MLXN_KERNEL("copy_tiles_" #name, copy_tiles, S, D)

MLXN_COPIES(u8, uchar, uchar);
MLXN_COPIES(u16, ushort, ushort);
MLXN_COPIES(u32, uint, uint);
MLXN_COPIES(from_f32_f16, float, half);
MLXN_COPIES(from_f32_bf16, float, bfloat);
MLXN_COPIES(from_f16_f32, half, float);
MLXN_COPIES(from_f16_bf16, half, bfloat);
MLXN_COPIES(from_bf16_f32, bfloat, float);
MLXN_COPIES(from_bf16_f16, bfloat, half);
