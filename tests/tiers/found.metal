// Kernels that gave another result in some tier once, as small as they could be made.
#include <metal_stdlib>
using namespace metal;

// What a round began with is needed behind the loop: a lane that leaves it does not write the next
// round's value, and lanes that go on must not make the place free for other values.
kernel void begin_of_the_last_round(device uint* out, device const uint* in,
                                    uint id [[thread_position_in_grid]],
                                    uint lane [[thread_index_in_simdgroup]]) {
  uint value = in[id], before = 0, sum = 0, round = 0;
  do {
    before = value;
    value = in[simd_shuffle_xor(value + lane, 1) & 255];
    if (lane & 1) sum += in[simd_shuffle_xor(value * 3, 2) & 255];
  } while (++round < (lane & 3));
  sum = simd_sum(sum);
  out[id] = before * 5 + sum;
}

// Nothing lies between the loop and the reduction.
kernel void sum_behind_a_loop(device float* out, device const float* in,
                              uint id [[thread_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0;
  uint round = 0;
  do sum += in[lane * 9 + round];
  while (++round < (lane & 3));
  out[id] = simd_product(sum);
}

// Threads part within a branch that they take together.
kernel void part_together(device uint* out, constant uint& rounds, constant uint& more,
                          uint id [[thread_position_in_grid]], uint total [[threads_per_grid]]) {
  uint state = 5, a = id, b = id * 3, c = 0, i = 0;
  do {
    if (state & 1) {
      state = more + i;
      if (id > 9) {
        a = id / 3;
      } else {
        b += 2;
        c = 7 * id;
      }
    }
  } while (++i < rounds);
  out[id] = a + b + c;
  out[id + total] = state;
}

// As vectors of lanes the divisors are numbers known beforehand, one of them zero.
kernel void divide_by_a_lane(device int* out, device const int* in,
                             uint id [[thread_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
  int part = 4 - int(lane);
  if (in[id + 32] & 1) part = in[id] / part;
  for (int i = 0; i < 8; ++i) part += in[id + i] * in[id + 2 * i] ^ i;
  out[id] = part;
}

// Some lanes alone make a product: nothing comes from the others, whatever their elements would be.
struct Place8x8 {
  ushort row, column;
  Place8x8(ushort lane)
      : row((lane >> 4) * 4 + (lane >> 1) % 4), column((lane >> 3) % 2 * 4 + lane % 2 * 2) {}
};

kernel void product_of_one_lane(device float* out, device const float* in,
                                uint id [[thread_position_in_grid]],
                                ushort lane [[thread_index_in_simdgroup]]) {
  const Place8x8 at(lane);
  float result = 1;
  if (lane == 0) {
    simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
    device const float* x = in + at.row * 24 + at.column;
    device const float* y = in + 5 + at.row * 28 + at.column;
    a.thread_elements()[0] = x[0];
    a.thread_elements()[1] = x[1];
    b.thread_elements()[0] = y[0];
    b.thread_elements()[1] = y[1];
    simdgroup_multiply_accumulate(c, a, b, c);
    result = c.thread_elements()[1];
  }
  out[id] = result;
}

kernel void product_of_what_all_have(device float* out, device const float* in,
                                     uint id [[thread_position_in_grid]],
                                     ushort lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  simdgroup_load(a, in, 8);
  simdgroup_load(b, in + 64, 8);
  if (lane % 3 == 1) simdgroup_multiply_accumulate(c, a, b, c);
  out[id] = c.thread_elements()[0] + c.thread_elements()[1];
}

// Lanes take their elements along when they leave; the others go on.
kernel void products_in_rounds(device float* out, device const float* in,
                               uint id [[thread_position_in_grid]],
                               ushort lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
  simdgroup_load(a, in, 8);
  simdgroup_load(b, in + 64, 8);
  ushort round = 0;
  do simdgroup_multiply(c, a, b);
  while (a.thread_elements()[0] += 1, ++round < (lane & 3));
  simdgroup_multiply_accumulate(b, c, a, b);
  out[id] = b.thread_elements()[0] + c.thread_elements()[1];
}
