// Scales that reproduce values with a small squared error. Inside this folder only.
#pragma once

#include <cstdint>
#include <span>

#include "mlxn/quant/dequantise.h"

namespace mlxn::quant {

// The element with the largest magnitude, the first of several. There must be one.
float largest(std::span<const float> values);

// 1 / x, or 0 where that is not a finite number.
float inverse(float x);

// Nearest whole number (halves away from zero), kept inside [low, high].
int rounded(float x, int low, int high);

// A scale for codes from low to high, low < 0: values ~ scale * code. 0 when all values are.
float fit_scale(std::span<const float> values, int low, int high);

// A scale and an offset for codes from 0 to high: values ~ scale * code + offset, with scale >= 0
// and offset <= 0.
Affine fit_affine(std::span<const float> values, int high);

// A scale for codes that number the values of a sorted table of 16.
float fit_table_scale(std::span<const float> values, const int8_t (&table)[16]);
// The number of the table's value nearest to x.
int nearest_in(const int8_t (&table)[16], float x);

}  // namespace mlxn::quant
