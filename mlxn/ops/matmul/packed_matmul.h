#pragma once

#include "mlxn/core/encode/encoder.h"
#include "mlxn/ops/matmul/packed_matmul_args.h"

namespace mlxn {

// A matrix packed by mlxn/quant/pack_rows.h.
struct PackedWeights {
  Buffer words;  // u32
  Dtype format = Dtype::kF32;
  uint64_t rows = 0, depth = 0;

  explicit operator bool() const { return bool(words); }
  bool is_float() const { return info(format).is_float; }
};

struct PackedMatmulParams {
  const PackedWeights& weights;  // [n, k] of a block format
  const Buffer& input;           // i32, made by quantise_rows of m rows of k elements
  const Buffer& output;          // f32 [..., n], m rows
};

// output[m][n] = sum over k of input[m][k] * weights[n][k]: exact within 32 elements, float beyond.
// A row has the same bits alone and among others. kUnsupported, kDtypeMismatch, kShapeMismatch,
// kOutOfRange and kInvalidArgument for wrong arguments.
Status packed_matmul(ComputeEncoder& encoder, const PackedMatmulParams& params);

}  // namespace mlxn
