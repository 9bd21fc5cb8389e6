// MSL: floats whose type is known at run time: 0 f32, 1 f16, 2 bf16 (float_type.h). For single
// elements; loops over many are better made for each type.
#pragma once

#include "mlxn/ops/common/kernel.h"

inline float load_float(device const uchar* tensor, ulong i, uint type) {
  if (type == 0) return reinterpret_cast<device const float*>(tensor)[i];
  if (type == 1) return static_cast<float>(reinterpret_cast<device const half*>(tensor)[i]);
  return static_cast<float>(reinterpret_cast<device const bfloat*>(tensor)[i]);
}

inline void store_float(device uchar* tensor, ulong i, uint type, float value) {
  if (type == 0) {
    reinterpret_cast<device float*>(tensor)[i] = value;
  } else if (type == 1) {
    reinterpret_cast<device half*>(tensor)[i] = static_cast<half>(value);
  } else {
    reinterpret_cast<device bfloat*>(tensor)[i] = static_cast<bfloat>(value);
  }
}
