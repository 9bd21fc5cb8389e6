#include <metal_stdlib>
#include "number.h"
using namespace metal;
constant int number [[function_constant(0)]];

kernel void scale(device int* data, uint i [[thread_position_in_grid]]) {
  data[i] *= number * NUMBER_OF(1);
}
