// cast_<from>_<to>: output[i] = input[i] in another type. Buffers: 0 input, 1 output, 2
// ElementwiseArgs. fill_{u32,u16}: the same bits everywhere. Buffers: 0 output, 1 FillArgs. Grid:
// one thread for each element, any threadgroup.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/elementwise/elementwise_args.h"

// By way of float, which holds every half and bfloat.
template <typename To, typename From>
struct Cast {
  static To of(From x) { return static_cast<To>(static_cast<float>(x)); }
};
// What an integer cannot hold would be undefined.
template <>
struct Cast<int, float> {
  static int of(float x) {
    if (!(x > -2147483648.0f)) return x <= -2147483648.0f ? -2147483647 - 1 : 0;
    return x < 2147483648.0f ? static_cast<int>(x) : 2147483647;
  }
};
template <>
struct Cast<uint, float> {
  static uint of(float x) {
    if (!(x > 0.0f)) return 0;
    return x < 4294967296.0f ? static_cast<uint>(x) : 4294967295u;
  }
};

template <typename From, typename To>
[[kernel]] void cast(device const From* input [[buffer(0)]], device To* output [[buffer(1)]],
                     constant ElementwiseArgs& args [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
  if (i < args.count) output[i] = Cast<To, From>::of(input[i]);
}

template <typename T>
[[kernel]] void fill(device T* output [[buffer(0)]], constant FillArgs& args [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  if (i < args.count) output[i] = static_cast<T>(args.bits);
}

MLXN_KERNEL("cast_f32_f16", cast, float, half);
MLXN_KERNEL("cast_f32_bf16", cast, float, bfloat);
MLXN_KERNEL("cast_f16_f32", cast, half, float);
MLXN_KERNEL("cast_f16_bf16", cast, half, bfloat);
MLXN_KERNEL("cast_bf16_f32", cast, bfloat, float);
MLXN_KERNEL("cast_bf16_f16", cast, bfloat, half);
MLXN_KERNEL("cast_f32_i32", cast, float, int);
MLXN_KERNEL("cast_f32_u32", cast, float, uint);
MLXN_KERNEL("cast_i32_f32", cast, int, float);
MLXN_KERNEL("cast_u32_f32", cast, uint, float);
MLXN_KERNEL("fill_u32", fill, uint);
MLXN_KERNEL("fill_u16", fill, ushort);
