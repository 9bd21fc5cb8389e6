// MSL: what every kernel file includes.
#pragma once

#include <metal_stdlib>

using namespace metal;

// What kernels add up in. The tool ops_accumulators puts a type with half the bits in its place and
// counts the kernels whose cases do not notice: so a sum over a loop is an Accumulator, not a
// float.
#ifdef MLXN_NARROW_ACCUMULATOR
struct Accumulator {
  half value;
  Accumulator() = default;
  Accumulator(float number) : value(static_cast<half>(number)) {}
  operator float() const { return static_cast<float>(value); }
  void operator+=(float number) { *this = static_cast<float>(value) + number; }
  void operator*=(float number) { *this = static_cast<float>(value) * number; }
};
#else
using Accumulator = float;
#endif

// Makes an entry point of a template: MLXN_KERNEL("name_f32", name, float).
#define MLXN_KERNEL(entry_point, function, ...) \
  template                                      \
      [[host_name(entry_point)]] [[kernel]] decltype(function<__VA_ARGS__>) function<__VA_ARGS__>
