// tq_encode: rows of tokens become codes. Buffers: 0 input [tokens, heads, dim], 1 codes [heads,
// capacity, tq_bytes], 2 norms [heads, capacity, tq_norms], 3 TqArgs. Grid: threadgroups of 32
// threads, (heads, tokens). dim is 64, 128, 256 or 512.
#include "mlxn/ops/common/float_access.h"
#include "mlxn/ops/turboquant/codebooks.h"
#include "mlxn/ops/turboquant/hadamard_row.h"
#include "mlxn/ops/turboquant/tq_args.h"

constant constexpr uint kMostDim = 512, kMostHalf = 128, kLanes = 32;

// The square root of the sum of squares of `count` elements.
inline float norm_of(threadgroup const float* elements, uint count, uint lane) {
  Accumulator squares = 0.0f;
  for (uint i = 0; i < count; i += kLanes) {
    const float x = (elements + i)[lane];
    squares = fma(x, x, static_cast<float>(squares));
  }
  return sqrt(simd_sum(static_cast<float>(squares)));
}

// The code of the nearest value. ends[j] is where the code half + j ends, infinity for the last
// one.
inline uint nearest_code(threadgroup const float* ends, uint half, float value) {
  const float magnitude = abs(value);
  const uint negative = value > 0 ? 0 : 1;
  uint count = 0;  // of ends below
#pragma unroll
  for (uint step = kMostHalf / 2; step > 0; step /= 2) {
    const float end = ends[count + step - 1];
    const uint below = (end < magnitude ? 1u : 0u) | (end == magnitude ? negative : 0u);
    count += below * step;
  }
  return negative != 0 ? half - 1 - count : half + count;
}

[[kernel, max_total_threads_per_threadgroup(kLanes)]] void tq_encode(
    device const uchar* input [[buffer(0)]], device uchar* codes [[buffer(1)]],
    device float* norms [[buffer(2)]], constant TqArgs& args [[buffer(3)]],
    uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float row[kMostDim], ends[kMostHalf];
  const uint head = group.x, dim = args.dim;
  const ulong from = (static_cast<ulong>(args.first_token + group.y) * args.heads + head) * dim;
  for (uint i = 0; i < dim; i += kLanes) {
    const float x = load_float(input, from + i + lane, args.input_type);
    (row + i)[lane] = dim >= 256 ? x * sign_of(i + lane) : x;
  }
  const uint half = codebook_levels(args.bits) / 2;
  for (uint i = 0; i < kMostHalf; i += kLanes) {
    float end = INFINITY;
    if (i + lane + 1 < half) end = codebook_end(args.bits, half + i + lane);
    simdgroup_barrier(mem_flags::mem_none);  // reads first, then the lanes store side by side
    (ends + i)[lane] = end;
  }
  hadamard_row(row, dim, Worker{lane, 0, 1});

  const uint next = args.first_row + group.y;
  const uint place = next < args.capacity ? next : next - args.capacity;
  const ulong to = static_cast<ulong>(head) * args.capacity + place;
  const uint parts = tq_norms(dim), length = dim / parts;
  for (uint part = 0; part < parts; ++part) {
    threadgroup float* elements = row + part * length;
    const float whole = norm_of(elements, length, lane);
    const float norm = parts == 1 ? whole : whole / sqrt(static_cast<float>(length));
    const float unit = parts == 1 ? sqrt(static_cast<float>(dim)) : args.scale_factor;
    const float factor = norm <= 1e-10f ? 0.0f : unit / norm;
    for (uint i = 0; i < length; i += kLanes) (elements + i)[lane] *= factor;
    if (lane == 0) norms[to * parts + part] = norm;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);

  device uchar* own = codes + to * tq_bytes(dim, args.bits);
  if (args.bits == 4) {
    for (uint i = 0; i < dim / 2; i += kLanes) {
      threadgroup const float* pair = row + 2 * (i + lane);
      const uint low = nearest_code(ends, half, pair[0]), high = nearest_code(ends, half, pair[1]);
      simdgroup_barrier(mem_flags::mem_none);
      (own + i)[lane] = static_cast<uchar>(low | high << 4);
    }
    return;
  }
  for (uint i = 0; i < dim; i += kLanes) {
    const uint code = nearest_code(ends, half, (row + i)[lane]);
    simdgroup_barrier(mem_flags::mem_none);
    (own + i)[lane] = static_cast<uchar>(code);
  }
}
