// MSL: arithmetic on stored values. Computed in float, rounded once to the storage type, so that an
// op has the same bits alone and as a part of a fused kernel.
#pragma once

#include "mlxn/ops/common/kernel.h"

template <typename T>
inline T sum(T a, T b) {
  return static_cast<T>(static_cast<float>(a) + static_cast<float>(b));
}

template <typename T>
inline T silu_product(T gate, T up) {
  const float g = static_cast<float>(gate);
  return static_cast<T>(g / (1.0f + exp(-g)) * static_cast<float>(up));
}

template <typename T>
inline T product(T a, T b) {
  return static_cast<T>(static_cast<float>(a) * static_cast<float>(b));
}
