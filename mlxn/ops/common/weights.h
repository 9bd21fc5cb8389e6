// MSL: weights in any format, element by element and in pieces.
#pragma once

#include "mlxn/base/weight_formats.h"
#include "mlxn/ops/common/kernel.h"
#include "mlxn/quant/dequantise.h"

// How weights of type W are read, which is a block of mlxn/quant or a plain float type.
template <typename W>
struct Format {
  // Where row `index` of a tensor with rows of `dim` elements begins.
  static device const W* row(device const W* tensor, ulong index, uint dim) {
    return tensor + index * (dim / W::kElements);
  }
  static float element(device const W* row, uint i) {
    return mlxn::quant::dequantised(row[i / W::kElements], static_cast<int>(i % W::kElements));
  }
  // 32 elements from element 32 * group on; what lies past `dim` is zero.
  static void unpack(device const W* row, uint group, uint, threadgroup float* values) {
    constexpr uint kGroups = W::kElements / 32;
    device const W& block = row[group / kGroups];
    const int part = 2 * static_cast<int>(group % kGroups);
    float own[32];  // all reads before all writes: they may become one of each
    for (int p = 0; p < 2; ++p) {
      const mlxn::quant::Affine at = mlxn::quant::affine(block, part + p);
      for (int j = 0; j < 16; ++j) {
        const float code = static_cast<float>(mlxn::quant::code(block, part + p, j));
        own[16 * p + j] = fma(at.scale, code, at.offset);
      }
    }
    for (int j = 0; j < 32; ++j) values[j] = own[j];
  }
};

template <typename T>
struct PlainFormat {
  static device const T* row(device const T* tensor, ulong index, uint dim) {
    return tensor + index * dim;
  }
  static float element(device const T* row, uint i) { return static_cast<float>(row[i]); }
  static void unpack(device const T* row, uint group, uint dim, threadgroup float* values) {
    float own[32];
    for (uint j = 0; j < 32; ++j) {
      own[j] = 32 * group + j < dim ? static_cast<float>(row[32 * group + j]) : 0.0f;
    }
    for (uint j = 0; j < 32; ++j) values[j] = own[j];
  }
};
template <>
struct Format<float> : PlainFormat<float> {};
template <>
struct Format<half> : PlainFormat<half> {};
template <>
struct Format<bfloat> : PlainFormat<bfloat> {};

// A kernel template over formats has its entry points by MLXN_EACH_WEIGHT_FORMAT(MLXN_ENTRY) with
//   #define MLXN_ENTRY(format, type, ...) MLXN_KERNEL("name_" #format, name, type);
