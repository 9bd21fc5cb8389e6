// MSL: weights in any format, element by element and in pieces.
#pragma once

#include "mlxn/ops/common/kernel.h"
#include "mlxn/quant/dequantise.h"

// A row of weights of a format: W is a plain float type or a block of mlxn/quant.
template <typename W>
struct WeightRow {
  device const W* blocks;

  // Where row `index` of a tensor with rows of `dim` elements begins.
  static WeightRow at(device const W* tensor, ulong index, uint dim) {
    return {tensor + index * (dim / W::kElements)};
  }
  float operator[](uint i) const {
    return mlxn::quant::dequantised(blocks[i / W::kElements], static_cast<int>(i % W::kElements));
  }
};

template <typename T>
struct PlainWeightRow {
  device const T* elements;

  static PlainWeightRow at(device const T* tensor, ulong index, uint dim) {
    return {tensor + index * dim};
  }
  float operator[](uint i) const { return static_cast<float>(elements[i]); }
};

template <>
struct WeightRow<float> : PlainWeightRow<float> {};
template <>
struct WeightRow<half> : PlainWeightRow<half> {};
template <>
struct WeightRow<bfloat> : PlainWeightRow<bfloat> {};

// Calls entry(format, type) for each format. A kernel template over formats has its entry points
// by #define MLXN_ENTRY(format, type) MLXN_KERNEL("name_" #format, name, type);
#define MLXN_EACH_BLOCK_FORMAT(entry)       \
  entry(q4_0, mlxn::quant::BlockQ4_0);     \
  entry(q4_1, mlxn::quant::BlockQ4_1);     \
  entry(q5_0, mlxn::quant::BlockQ5_0);     \
  entry(q5_1, mlxn::quant::BlockQ5_1);     \
  entry(q8_0, mlxn::quant::BlockQ8_0);     \
  entry(q2_k, mlxn::quant::BlockQ2_K);     \
  entry(q3_k, mlxn::quant::BlockQ3_K);     \
  entry(q4_k, mlxn::quant::BlockQ4_K);     \
  entry(q5_k, mlxn::quant::BlockQ5_K);     \
  entry(q6_k, mlxn::quant::BlockQ6_K);     \
  entry(iq4_nl, mlxn::quant::BlockIq4_Nl); \
  entry(iq4_xs, mlxn::quant::BlockIq4_Xs); \
  entry(mxfp4, mlxn::quant::BlockMxfp4)
#define MLXN_EACH_WEIGHT_FORMAT(entry) \
  entry(f32, float);                   \
  entry(f16, half);                    \
  entry(bf16, bfloat);                 \
  MLXN_EACH_BLOCK_FORMAT(entry)
