#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/norm/norm_kind.h"

namespace mlxn {

// When the residual is added: to the input, or to what comes out of the norm.
enum class ResidualAt { kFirst, kLast };

struct NormParams {
  const Buffer& input;   // [..., dim], f32, f16 or bf16
  const Buffer& output;  // of the input's dtype and element count; may be the input
  NormKind kind = NormKind::kRms;
  float eps = 1e-6f;  // not negative; with 0 a row of zeros gives NaN

  // All of these may be left out. Weights are of the input's dtype, but f32 for f16.
  const Buffer* weight = nullptr;    // [dim]
  const Buffer* bias = nullptr;      // [dim], of a weight's dtype
  const Buffer* gate = nullptr;      // as the input: the result is multiplied with its silu
  const Buffer* residual = nullptr;  // as the input; the output may be the residual
  ResidualAt residual_at = ResidualAt::kLast;
  const Buffer* factor = nullptr;  // [1] or [dim], of a weight's dtype: multiplies at the very end

  // Further outputs. The sum goes with ResidualAt::kFirst and may be residual or input.
  const Buffer* sum = nullptr;   // as the input: input + residual
  const Buffer* copy = nullptr;  // bf16, as many elements: the result once more,
  uint32_t copy_heads = 0;       // of an input [tokens, heads, dim] as [heads, tokens, dim] if > 0
};

// Of every row of the last dimension (at most 2^24):
//   x = input (+ residual)
//   output = (x / norm(x) * weight + bias) * silu(gate) (+ residual) * factor
// All in float, rounded once for each output: the norm is that of the unrounded sum. A NaN stays in
// its row; magnitudes from 1e19 on, whose squares are no floats, give zeros. This is the
// norm of a head without weights, LayerNorm, the norm before and behind a residual, and the gated
// norm of state space models. kDtypeMismatch, kShapeMismatch, kOutOfRange and kInvalidArgument for
// wrong arguments.
Status norm(ComputeEncoder& encoder, const NormParams& params);

}  // namespace mlxn
