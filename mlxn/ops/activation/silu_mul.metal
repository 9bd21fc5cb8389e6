// silu_mul_{f32,f16,bf16}: output[i] = gate[i] / (1 + exp(-gate[i])) * up[i].
// Buffers: 0 gate, 1 up, 2 output, 3 SiluMulArgs. Grid: one thread for each element, any
// threadgroup. In place is allowed. Computed in float, rounded once.
#include "mlxn/ops/activation/silu_mul_args.h"
#include "mlxn/ops/common/arithmetic.h"

template <typename T>
[[kernel]] void silu_mul(device const T* gate [[buffer(0)]], device const T* up [[buffer(1)]],
                         device T* output [[buffer(2)]], constant SiluMulArgs& args [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
  if (i >= args.count) return;
  output[i] = silu_product(gate[i], up[i]);
}

MLXN_KERNEL("silu_mul_f32", silu_mul, float);
MLXN_KERNEL("silu_mul_f16", silu_mul, half);
MLXN_KERNEL("silu_mul_bf16", silu_mul, bfloat);
