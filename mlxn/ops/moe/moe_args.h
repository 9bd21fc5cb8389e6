// Shared by host and kernels.
#pragma once

#include "mlxn/base/kernel_shared.h"

// What a score is: numbers of MoeScoring.
MLXN_CONSTANT uint32_t kMoeSoftmax = 0, kMoeSoftmaxOfSelected = 1, kMoeSigmoid = 2;
MLXN_CONSTANT uint32_t kMoeMostExperts = 3072, kMoeMostSelected = 64;
MLXN_CONSTANT uint32_t kMoeMostGroups = 32;
MLXN_CONSTANT uint32_t kMoeGateTokens = 3;

struct MoeRouteArgs {
  uint32_t experts, selected;
  uint32_t scoring;
  uint32_t groups, kept_groups, best_of_group;
  uint32_t has_bias, has_expert_scale;
  uint32_t renormalise, scale_first;
  float scale;
};

struct MoeGateArgs {
  MoeRouteArgs route;
  uint32_t tokens, together;  // together: of a threadgroup
  uint32_t dim;
  float eps;
};

struct MoeCombineArgs {
  uint32_t dim, slots;
  uint32_t has_residual, has_shared;
};

struct MoeCombineNormArgs {
  uint32_t dim, slots;
  uint32_t has_residual_weight;
  float eps;
};

struct MoeMapArgs {
  uint32_t experts, rows;
};

struct MoeExpertArgs {
  uint32_t dim, inner;
  uint32_t activation;  // 0: tanh form of GELU, 1: SiLU
  uint32_t first;       // 1: the output is written, 0: added to
  float weight;
};
