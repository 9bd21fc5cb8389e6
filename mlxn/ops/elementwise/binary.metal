// binary_{f32,f16,bf16}: output[i] = a[i] op b[i], op chosen by BinaryArgs, for tensors of one
// shape. Grid: size[0] threads, any threadgroup.
// binary_broadcast_{f32,f16,bf16}: the same with dimensions that are repeated. Grid: size[0] x
// size[1] x (size[2] * size[3]) threads, any threadgroup.
// Buffers: 0 a, 1 b, 2 output, 3 BinaryArgs. In place is allowed for what is not repeated.
// Computed in float, rounded once.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/elementwise/broadcast_args.h"

template <typename T>
inline T of_kind(mlxn::BinaryKind kind, T left, T right) {
  const float a = static_cast<float>(left), b = static_cast<float>(right);
  float result = 0;
  switch (kind) {
    case mlxn::BinaryKind::kAdd: result = a + b; break;
    case mlxn::BinaryKind::kSub: result = a - b; break;
    case mlxn::BinaryKind::kMul: result = a * b; break;
    case mlxn::BinaryKind::kDiv: result = a / b; break;
    case mlxn::BinaryKind::kMin: result = fmin(a, b); break;
    case mlxn::BinaryKind::kMax: result = fmax(a, b); break;
    case mlxn::BinaryKind::kCount: break;
  }
  return static_cast<T>(result);
}

template <typename T>
[[kernel]] void binary(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
                       device T* output [[buffer(2)]], constant BinaryArgs& args [[buffer(3)]],
                       uint i [[thread_position_in_grid]]) {
  if (i < args.size[0]) output[i] = of_kind(args.kind, a[i], b[i]);
}

template <typename T>
[[kernel]] void binary_broadcast(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]],
                                 device T* output [[buffer(2)]],
                                 constant BinaryArgs& args [[buffer(3)]],
                                 uint3 at [[thread_position_in_grid]]) {
  const uint outer = at.z / args.size[2], inner = at.z % args.size[2];
  device const T* a_row = a + (args.a[3] * outer + args.a[2] * inner + args.a[1] * at.y);
  device const T* b_row = b + (args.b[3] * outer + args.b[2] * inner + args.b[1] * at.y);
  device T* row = output + (static_cast<ulong>(at.z) * args.size[1] + at.y) * args.size[0];
  const uint i = at.x;
  // One row of both, or a single number of one of them, so that neighbours stay neighbours.
  if (args.a[0] == 0) {
    row[i] = of_kind(args.kind, a_row[0], b_row[i]);
  } else if (args.b[0] == 0) {
    row[i] = of_kind(args.kind, a_row[i], b_row[0]);
  } else {
    row[i] = of_kind(args.kind, a_row[i], b_row[i]);
  }
}

MLXN_KERNEL("binary_f32", binary, float);
MLXN_KERNEL("binary_f16", binary, half);
MLXN_KERNEL("binary_bf16", binary, bfloat);
MLXN_KERNEL("binary_broadcast_f32", binary_broadcast, float);
MLXN_KERNEL("binary_broadcast_f16", binary_broadcast, half);
MLXN_KERNEL("binary_broadcast_bf16", binary_broadcast, bfloat);
