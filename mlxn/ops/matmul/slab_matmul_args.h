// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

// A threadgroup makes this many columns of the output, a simdgroup each, ...
MLXN_CONSTANT uint32_t kSlabColumns = 4, kSlabLanes = 32;
// ... for up to this many rows at once.
MLXN_CONSTANT uint32_t kSlabRows = 8;

// How floats are stored: 0 f32, 1 f16, 2 bf16.
struct SlabMatmulArgs {
  uint32_t rows, columns, depth;   // of the output; of the sums
  uint32_t slabs;                  // of weights
  uint32_t rows_of_slab;           // that follow each other; 0: each row's slab is its id
  uint32_t ordered;                // rows are taken in an order of their own
  uint32_t share;                  // rows of the output with the same row of the input
  uint32_t batch_rows, head_dim;   // the input is [batch, heads, batch_rows, head_dim]
  uint32_t gated;                  // inputs are silu(input) * up
  uint32_t has_bias, bias_stride;  // between those of slabs
  uint32_t input_type, output_type, bias_type;
  uint32_t group_size;  // of affine weights: elements that share a scale
  uint32_t scale_type;
  float alpha;
};
