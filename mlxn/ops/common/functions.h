// MSL: functions of one float that activations are made of. A NaN comes out as a NaN, infinity as
// the limit.
#pragma once

#include "mlxn/ops/common/kernel.h"

// The lowest float in place of -infinity, so that a product with zero is zero.
inline float bounded_below(float x) {
  return x < -3e38f ? -3e38f : x;
}

inline float sigmoid_of(float x) {
  return 1.0f / (1.0f + exp(-x));
}

inline float silu_of(float x) {
  return bounded_below(x) / (1.0f + exp(-x));
}

inline float relu_of(float x) {
  return x < 0.0f ? 0.0f : x;
}

// x / 2 * (1 + tanh(u)) is x * sigmoid(2 u), which keeps its digits where tanh is near -1.
inline float gelu_tanh_of(float x) {
  const float y = bounded_below(x);
  const float cube = 0.044715f * y * y * y;
  return y / (1.0f + exp(-1.5957691216057308f * (y + cube)));
}

inline float gelu_quick_of(float x) {
  return bounded_below(x) / (1.0f + exp(-1.702f * x));
}

// x * Phi(x), where Phi(-a) = exp(-a^2 / 2) * t * p(t - 1/2) with t = 1 / (1 + 0.35 a): p is fitted
// to 6e-8. The square's rounding error goes into the exponential too.
inline float gelu_erf_of(float x) {
  const float a = min(fabs(x), 15.0f);
  const float t = 1.0f / fma(0.35f, a, 1.0f);
  const float v = t - 0.5f;
  float p = fma(-0.0297704395f, v, 0.0278691668f);
  p = fma(p, v, 0.0442224853f);
  p = fma(p, v, -0.0562369376f);
  p = fma(p, v, -0.0817362815f);
  p = fma(p, v, 0.0818766952f);
  p = fma(p, v, 0.284395456f);
  p = fma(p, v, 0.342991531f);
  p = fma(p, v, 0.253244281f);
  const float square = a * a;
  const float rest = fma(a, a, -square);
  const float tail = exp(-0.5f * square) * fma(-0.5f, rest, 1.0f) * t * p;
  return relu_of(x) - a * tail;
}

// Near zero by its series, so that no digit is lost to 1.
inline float expm1_of(float x) {
  float series = 1.0f / 362880.0f;
  series = fma(series, x, 1.0f / 40320.0f);
  series = fma(series, x, 1.0f / 5040.0f);
  series = fma(series, x, 1.0f / 720.0f);
  series = fma(series, x, 1.0f / 120.0f);
  series = fma(series, x, 1.0f / 24.0f);
  series = fma(series, x, 1.0f / 6.0f);
  series = fma(series, x, 0.5f);
  const float small = fma(series * x, x, x);
  return fabs(x) < 0.5f ? small : exp(x) - 1.0f;
}

// log(1 + exp(x)) = max(x, 0) + log(1 + u) with u = exp(-|x|), by the series of 2 atanh(s).
inline float softplus_of(float x) {
  const float u = exp(-fabs(x));
  const float s = u / (2.0f + u);
  const float s2 = s * s;
  float series = 1.0f / 15.0f;
  series = fma(series, s2, 1.0f / 13.0f);
  series = fma(series, s2, 1.0f / 11.0f);
  series = fma(series, s2, 1.0f / 9.0f);
  series = fma(series, s2, 1.0f / 7.0f);
  series = fma(series, s2, 1.0f / 5.0f);
  series = fma(series, s2, 1.0f / 3.0f);
  return relu_of(x) + 2.0f * fma(series * s2, s, s);
}

// Limits as selects, so that a NaN stays.
inline float clamped(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}
