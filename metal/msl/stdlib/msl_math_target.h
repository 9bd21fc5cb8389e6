// The scalar float functions under the public ones: our own on the CPU, libdevice on NVPTX. This
// file and msl_math_cpu.h are all that depends on the target.
#pragma once
#pragma clang system_header

#ifndef __NVPTX__
#include "msl_math_cpu.h"
namespace __msl {
namespace target = cpu;
namespace target_fast {
using cpu::log;
using cpu::log2;
using cpu::rsqrt;
using cpu::fast::cos;
using cpu::fast::exp;
using cpu::fast::exp2;
using cpu::fast::pow;
using cpu::fast::sin;
}  // namespace target_fast
}  // namespace __msl
#else
#define __MSL_NV1(name)                   \
  extern "C" float __nv_##name##f(float); \
  namespace __msl {                       \
  namespace target {                      \
  __MSL_FN float name(float x) {          \
    return __nv_##name##f(x);             \
  }                                       \
  }                                       \
  }
#define __MSL_NV2(name)                          \
  extern "C" float __nv_##name##f(float, float); \
  namespace __msl {                              \
  namespace target {                             \
  __MSL_FN float name(float x, float y) {        \
    return __nv_##name##f(x, y);                 \
  }                                              \
  }                                              \
  }
__MSL_NV1(exp)
__MSL_NV1(exp2)
__MSL_NV1(exp10)
__MSL_NV1(log)
__MSL_NV1(log2)
__MSL_NV1(log10)
__MSL_NV1(sin)
__MSL_NV1(cos)
__MSL_NV1(tan)
__MSL_NV1(sinpi)
__MSL_NV1(cospi)
__MSL_NV1(sinh)
__MSL_NV1(cosh)
__MSL_NV1(tanh)
__MSL_NV1(asin)
__MSL_NV1(acos)
__MSL_NV1(atan)
__MSL_NV1(asinh)
__MSL_NV1(acosh)
__MSL_NV1(atanh)
__MSL_NV1(rsqrt)
__MSL_NV1(floor)
__MSL_NV1(ceil)
__MSL_NV1(trunc)
__MSL_NV1(rint)
__MSL_NV1(round)
__MSL_NV2(fmin)
__MSL_NV2(fmax)
__MSL_NV2(pow)
__MSL_NV2(atan2)
__MSL_NV2(fmod)
extern "C" {
float __nv_fast_expf(float);
float __nv_fast_logf(float);
float __nv_fast_log2f(float);
float __nv_fast_sinf(float);
float __nv_fast_cosf(float);
float __nv_fast_powf(float, float);
}
namespace __msl {
namespace target {
__MSL_FN float sqrt(float x) {  // libdevice's is an approximation
  return __builtin_elementwise_sqrt(x);
}
__MSL_FN float tanpi(float x) {
  return sinpi(x) / cospi(x);
}
__MSL_FN float powr(float x, float y) {
  return x < 0.0f ? __builtin_nanf("") : pow(x, y);
}
}  // namespace target
namespace target_fast {
using target::exp2;
using target::rsqrt;
__MSL_FN float exp(float x) {
  return __nv_fast_expf(x);
}
__MSL_FN float log(float x) {
  return __nv_fast_logf(x);
}
__MSL_FN float log2(float x) {
  return __nv_fast_log2f(x);
}
__MSL_FN float sin(float x) {
  return __nv_fast_sinf(x);
}
__MSL_FN float cos(float x) {
  return __nv_fast_cosf(x);
}
__MSL_FN float pow(float x, float y) {
  return __nv_fast_powf(x, y);
}
}  // namespace target_fast
}  // namespace __msl
#endif
