#pragma once

#include "mlxn/core/encode/encoder.h"

namespace mlxn {

enum class MoeScoring : uint32_t {
  kSoftmax,            // over all experts
  kSoftmaxOfSelected,  // over the chosen ones alone
  kSigmoid,
};

// How experts are chosen and weighted.
struct MoeRouting {
  MoeScoring scoring = MoeScoring::kSoftmax;
  // Divides the weights by their sum, where that is not 0.
  bool renormalise = true;
  // Whether expert scales come before that (and count for the sum) or behind it.
  bool scale_first = false;
  float scale = 1;  // of all weights, at the end; finite
  // Groups of neighbours, at most 32, of which only the best are chosen from: those with the
  // largest sums of their best one or two scores, with the bias.
  uint32_t groups = 1, kept_groups = 1, best_of_group = 1;
  const Buffer* bias = nullptr;          // f32 [experts]: added to scores for the choice alone
  const Buffer* expert_scale = nullptr;  // f32 [experts]: times weights
};

struct MoeRouteParams {
  const Buffer& logits;  // f32 [tokens, experts], at most 3072 experts
  const Buffer& ids;  // u32 [tokens, selected], at most 64 and not more than the kept groups have
  const Buffer& weights;  // f32 [tokens, selected]
  MoeRouting routing = {};
};

// The experts of each token, best first, and their weights. An expert is chosen once at most; of
// equal ones the lowest is first, NaN comes behind all numbers. With groups or a bias the choice
// goes by scores, else by logits, which have the same order. kDtypeMismatch, kShapeMismatch,
// kOutOfRange, kInvalidArgument for wrong arguments.
Status moe_route(ComputeEncoder& encoder, const MoeRouteParams& params);

struct MoeGateParams {
  const Buffer& hidden;       // [tokens, dim], f32, f16 or bf16
  const Buffer& norm_weight;  // f32 [dim]
  const Buffer& router;       // f32 [experts, dim]
  const Buffer& ids;          // as of moe_route
  const Buffer& weights;
  float eps = 1e-6f;  // not negative
  MoeRouting routing = {};
};

// moe_route with the logits rms_norm(hidden) * router^T, computed in float and not rounded in
// between.
Status moe_gate(ComputeEncoder& encoder, const MoeGateParams& params);

}  // namespace mlxn
