// pad_{u8,u16,u32}: destination = source within a box, a value outside of it.
// Buffers: 0 source, 1 destination, 2 PadArgs. Grid: a thread for each element of the destination,
// (sizes[3], sizes[2], sizes[0] * sizes[1]); any threadgroup of one row.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/layout/strided_copy_args.h"

template <typename T>
[[kernel]] void pad(device const T* source [[buffer(0)]], device T* destination [[buffer(1)]],
                    constant PadArgs& args [[buffer(2)]], uint3 place [[thread_position_in_grid]]) {
  const uint at[4] = {place.z / args.sizes[1], place.z % args.sizes[1], place.y, place.x};
  bool inside = true;
  ulong from = 0, to = 0;
  for (uint i = 0; i < 4; ++i) {
    const uint j = at[i] - args.begin[i];  // before the box: a large number
    inside = inside && j < args.source_sizes[i];
    from += j * args.source_strides[i];
    to = to * args.sizes[i] + at[i];
  }
  T value = static_cast<T>(args.value);
  if (inside) value = source[from];
  destination[to] = value;
}

MLXN_KERNEL("pad_u8", pad, uchar);
MLXN_KERNEL("pad_u16", pad, ushort);
MLXN_KERNEL("pad_u32", pad, uint);
