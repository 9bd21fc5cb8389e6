// elementwise_{add,mul}_{f32,f16,bf16}: output[i] = a[i] op b[i].
// Buffers: 0 a, 1 b, 2 output, 3 ElementwiseArgs. Grid: one thread for each element, any
// threadgroup. In place is allowed. Rounded once.
#include "mlxn/ops/common/arithmetic.h"
#include "mlxn/ops/elementwise/elementwise_args.h"

template <typename T>
[[kernel]] void elementwise_add(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
                                device T* output [[buffer(2)]],
                                constant ElementwiseArgs& args [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
  if (i < args.count) output[i] = sum(a[i], b[i]);
}

template <typename T>
[[kernel]] void elementwise_mul(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
                                device T* output [[buffer(2)]],
                                constant ElementwiseArgs& args [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
  if (i < args.count) output[i] = product(a[i], b[i]);
}

MLXN_KERNEL("elementwise_add_f32", elementwise_add, float);
MLXN_KERNEL("elementwise_add_f16", elementwise_add, half);
MLXN_KERNEL("elementwise_add_bf16", elementwise_add, bfloat);
MLXN_KERNEL("elementwise_mul_f32", elementwise_mul, float);
MLXN_KERNEL("elementwise_mul_f16", elementwise_mul, half);
MLXN_KERNEL("elementwise_mul_bf16", elementwise_mul, bfloat);
