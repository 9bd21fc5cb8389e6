// MSL: what every kernel file includes.
#pragma once

#include <metal_stdlib>

using namespace metal;

// Makes an entry point of a template: MLXN_KERNEL("name_f32", name, float).
#define MLXN_KERNEL(entry_point, function, ...) \
  template                                      \
      [[host_name(entry_point)]] [[kernel]] decltype(function<__VA_ARGS__>) function<__VA_ARGS__>
