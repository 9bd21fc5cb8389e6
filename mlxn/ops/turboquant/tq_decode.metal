// tq_decode: the values of rows in codes, as they were after the rotation. Buffers: 0 codes [heads,
// capacity, tq_bytes], 1 norms [heads, capacity, tq_norms], 2 output [tokens, heads, dim], 3
// TqArgs. Grid: a thread for each element, (dim, heads, tokens); any threadgroup.
#include "mlxn/ops/turboquant/tq_row.h"

[[kernel]] void tq_decode(device const uchar* codes [[buffer(0)]],
                          device const float* norms [[buffer(1)]],
                          device float* output [[buffer(2)]], constant TqArgs& args [[buffer(3)]],
                          uint3 position [[thread_position_in_grid]]) {
  const uint element = position.x, head = position.y, next = args.first_row + position.z;
  const uint place = next < args.capacity ? next : next - args.capacity;
  const ulong row = static_cast<ulong>(head) * args.capacity + place;
  const uint code = code_of(codes + row * tq_bytes(args.dim, args.bits), element, args.bits);
  const float norm = norms[row * tq_norms(args.dim) + element / 256];
  output[(static_cast<ulong>(position.z) * args.heads + head) * args.dim + element] =
      codebook_value(args.bits, code) * norm / unit_of(args.dim, args.scale_factor);
}
