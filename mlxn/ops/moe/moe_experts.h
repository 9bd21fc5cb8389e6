#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class MoeActivation : uint32_t { kGelu, kSilu };  // GELU in its tanh form

// A chosen expert: its matrices and what its output counts for.
struct MoeExpert {
  const Buffer& gate;  // f32 [inner, dim]
  const Buffer& up;    // f32 [inner, dim]
  const Buffer& down;  // f32 [dim, inner]
  float weight;        // finite; below 1e-10 in magnitude the expert is left out
};

struct MoeExpertsParams {
  const Buffer& input;          // f32 [dim], one token
  const Buffer& output;         // f32 [dim]
  const Buffer& hidden;         // f32 [inner], scratch: what is left there has no meaning
  ArrayRef<MoeExpert> experts;  // at least one
  MoeActivation activation = MoeActivation::kGelu;
};

// output = sum over experts of weight * down (act(gate input) * (up input)), expert after expert
// with barriers between them: the plain way, for weights that are known on the host.
// kDtypeMismatch, kShapeMismatch, kOutOfRange, kInvalidArgument for wrong arguments.
Status moe_experts(ComputeEncoder& encoder, const MoeExpertsParams& params);

}  // namespace mlxn
