#include <metal_stdlib>
#include "number.h"
using namespace metal;
// The same index as in the other file, of another type: every file has its own.
constant float number [[function_constant(0)]];

template <typename T>
[[kernel]] void shift(device T* data, uint i [[thread_position_in_grid]]) {
  data[i] += T(number * NUMBER_OF(10));
}
template [[host_name("shift_int")]] [[kernel]] void shift<int>(device int*, uint);
