// metal_math: the float functions in metal::precise and metal::fast, and the choice between them.
#pragma once
#pragma clang system_header

#include "msl_math_target.h"
#include "msl_overload.h"

// What is precise stays so in fast mode.
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)

namespace __msl {

// Bit-level functions for any of the three floating types.
template <class T>
struct float_bits;
template <>
struct float_bits<float> {
  using type = unsigned;
};
template <>
struct float_bits<half> {
  using type = unsigned short;
};
template <>
struct float_bits<bfloat> {
  using type = unsigned short;
};
template <class T>
using float_bits_t = typename float_bits<T>::type;

using target::fmax;
using target::fmin;
__MSL_FN float fabs(float x) {
  return __builtin_fabsf(x);
}
__MSL_FN float copysign(float x, float y) {
  return __builtin_copysignf(x, y);
}
__MSL_FN float fma(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
__MSL_FN float fdivide(float x, float y) {
  return x / y;
}
// Correctly rounded: two terms of the series around an estimate y, of whose error 1 - x y^2 no bit
// is lost. Right for every float, which a walk over all fractions and both parities of the exponent
// shows.
__MSL_FN float rsqrt(float x) {
  float y = target::rsqrt(x);
  float root = x * y, lost = fma(x, y, -root);
  float error = fma(-lost, y, fma(-root, y, 1.0f));
  float better = fma(y, fma(0.375f * error, error, 0.5f * error), y);
  return x > 0.0f && x < __builtin_inff() ? better : y;
}
__MSL_FN float fdim(float x, float y) {
  return x <= y ? 0.0f : x - y;
}
__MSL_FN float fmin3(float x, float y, float z) {
  return fmin(x, fmin(y, z));
}
__MSL_FN float fmax3(float x, float y, float z) {
  return fmax(x, fmax(y, z));
}
__MSL_FN float fmedian3(float x, float y, float z) {
  return fmax(fmin(x, y), fmin(fmax(x, y), z));
}

// Fractional part, below one also after rounding to T; zero for infinity.
template <class T>
__MSL_FN T fract(T x) {
  using Bits = float_bits_t<T>;
  const T below_one = __builtin_bit_cast(T, Bits(__builtin_bit_cast(Bits, T(1.0f)) - 1));
  T f = T(float(x) - target::floor(float(x)));
  f = f > below_one ? below_one : f;
  return float(x) - float(x) == 0.0f ? f : x != x ? x : T(0.0f);
}

// The neighbour of x in the direction of y.
template <class T>
__MSL_FN T nextafter(T x, T y) {
  using Bits = float_bits_t<T>;
  constexpr Bits sign = Bits(1) << (sizeof(T) * 8 - 1);
  Bits b = __builtin_bit_cast(Bits, x);
  bool away = (x < y) == (b < sign);
  Bits moved = x == T(0.0f) ? Bits((y < x ? sign : Bits(0)) | 1) : Bits(away ? b + 1 : b - 1);
  T r = __builtin_bit_cast(T, moved);
  r = x == y ? y : r;
  return x != x ? x : y != y ? y : r;
}

// Unbiased exponent as C's ilogb; zero gives INT_MIN, infinity and NaN INT_MAX.
__MSL_FN int ilogb(float x) {
  bool tiny = __builtin_fabsf(x) < 0x1p-126f;
  unsigned b = __builtin_bit_cast(unsigned, tiny ? x * 0x1p23f : x);
  int e = int((b >> 23) & 0xff) - (tiny ? 150 : 127);
  return x == 0.0f ? -0x7fffffff - 1 : e == 128 ? 0x7fffffff : e;
}

// x * 2^n, rounded once: exact in double for every n that matters.
__MSL_FN float ldexp(float x, int n) {
  n = n < -400 ? -400 : n > 400 ? 400 : n;
  return float(double(x) * __builtin_bit_cast(double, (unsigned long)(n + 1023) << 52));
}

// x = fraction * 2^exponent with |fraction| in [0.5, 1); zero, infinity and NaN pass through.
__MSL_FN float frexp(float x, int& exponent) {
  int e = ilogb(x);
  bool plain = x != 0.0f && e != 0x7fffffff;
  exponent = plain ? e + 1 : 0;
  return plain ? ldexp(x, -exponent) : x;
}

__MSL_FN float modf(float x, float& whole) {
  whole = target::trunc(x);
  return copysign(__builtin_fabsf(x) == __builtin_inff() ? 0.0f : x - whole, x);
}

}  // namespace __msl

namespace metal {

namespace precise {

__MSL_FLOAT1(acos, ::__msl::target::acos)
__MSL_FLOAT1(acosh, ::__msl::target::acosh)
__MSL_FLOAT1(asin, ::__msl::target::asin)
__MSL_FLOAT1(asinh, ::__msl::target::asinh)
__MSL_FLOAT1(atan, ::__msl::target::atan)
__MSL_FLOAT1(atanh, ::__msl::target::atanh)
__MSL_FLOAT1(ceil, ::__msl::target::ceil)
__MSL_FLOAT1(cos, ::__msl::target::cos)
__MSL_FLOAT1(cosh, ::__msl::target::cosh)
__MSL_FLOAT1(cospi, ::__msl::target::cospi)
__MSL_FLOAT1(exp, ::__msl::target::exp)
__MSL_FLOAT1(exp10, ::__msl::target::exp10)
__MSL_FLOAT1(exp2, ::__msl::target::exp2)
__MSL_FLOAT1(fabs, ::__msl::fabs)
__MSL_FLOAT1(floor, ::__msl::target::floor)
__MSL_FLOAT1(log, ::__msl::target::log)
__MSL_FLOAT1(log10, ::__msl::target::log10)
__MSL_FLOAT1(log2, ::__msl::target::log2)
__MSL_FLOAT1(rint, ::__msl::target::rint)
__MSL_FLOAT1(round, ::__msl::target::round)
__MSL_FLOAT1(rsqrt, ::__msl::rsqrt)
__MSL_FLOAT1(sin, ::__msl::target::sin)
__MSL_FLOAT1(sinh, ::__msl::target::sinh)
__MSL_FLOAT1(sinpi, ::__msl::target::sinpi)
__MSL_FLOAT1(sqrt, ::__msl::target::sqrt)
__MSL_FLOAT1(tan, ::__msl::target::tan)
__MSL_FLOAT1(tanh, ::__msl::target::tanh)
__MSL_FLOAT1(tanpi, ::__msl::target::tanpi)
__MSL_FLOAT1(trunc, ::__msl::target::trunc)
__MSL_FLOAT2(atan2, ::__msl::target::atan2)
__MSL_FLOAT2(copysign, ::__msl::copysign)
__MSL_FLOAT2(divide, ::__msl::fdivide)
__MSL_FLOAT2(fdim, ::__msl::fdim)
__MSL_FLOAT2(fmax, ::__msl::fmax)
__MSL_FLOAT2(fmin, ::__msl::fmin)
__MSL_FLOAT2(fmod, ::__msl::target::fmod)
__MSL_FLOAT2(pow, ::__msl::target::pow)
__MSL_FLOAT2(powr, ::__msl::target::powr)
__MSL_FLOAT3(fma, ::__msl::fma)
__MSL_FLOAT3(fmax3, ::__msl::fmax3)
__MSL_FLOAT3(fmedian3, ::__msl::fmedian3)
__MSL_FLOAT3(fmin3, ::__msl::fmin3)

// Functions that see the bits of their own type.
__MSL_FN float fract(float x) {
  return ::__msl::fract(x);
}
__MSL_FN half fract(half x) {
  return ::__msl::fract(x);
}
template <class T, __MSL_IF(::__msl::is_bfloat<T>)>
__MSL_FN T fract(T x) {
  return ::__msl::fract(x);
}
__MSL_VECTOR1(fract, is_float_vector)
__MSL_FN float nextafter(float x, float y) {
  return ::__msl::nextafter(x, y);
}
__MSL_FN half nextafter(half x, half y) {
  return ::__msl::nextafter(x, y);
}
template <class T, __MSL_IF(::__msl::is_bfloat<T>)>
__MSL_FN T nextafter(T x, T y) {
  return ::__msl::nextafter(x, y);
}
__MSL_VECTOR2(nextafter, is_float_vector_call)

// Functions with integers in or out, and those with a second result.
template <class T, __MSL_IF(::__msl::is_float<T>)>
__MSL_FN int ilogb(T x) {
  return ::__msl::ilogb(float(x));
}
__MSL_VECTOR1(ilogb, is_float_vector)
template <class T, __MSL_IF(::__msl::is_number<T>)>
__MSL_FN ::__msl::float_for_t<T> ldexp(T x, int n) {
  return ::__msl::float_for_t<T>(::__msl::ldexp(float(x), n));
}
template <class T, int N>
__MSL_FN vec<T, N> ldexp(vec<T, N> x, vec<int, N> n) {
  return ::__msl::generate<N>([&](int i) { return ldexp(x[i], n[i]); });
}
template <class T, __MSL_IF(::__msl::is_float<T>)>
__MSL_FN T frexp(T x, int& exponent) {
  return T(::__msl::frexp(float(x), exponent));
}
template <class T, int N>
__MSL_FN vec<T, N> frexp(vec<T, N> x, vec<int, N>& exponent) {
  return ::__msl::generate<N>([&](int i) { return frexp(x[i], exponent[i]); });
}
template <class T, __MSL_IF(::__msl::is_float<T>)>
__MSL_FN T modf(T x, T& whole) {
  float w;
  T f = T(::__msl::modf(float(x), w));
  whole = T(w);
  return f;
}
template <class T, int N>
__MSL_FN vec<T, N> modf(vec<T, N> x, vec<T, N>& whole) {
  return ::__msl::generate<N>([&](int i) { return modf(x[i], whole[i]); });
}
template <class V>
__MSL_FN V sincos(V x, V& cosine) {
  cosine = cos(x);
  return sin(x);
}

}  // namespace precise

namespace fast {

#define __MSL_FAST_FUNCTIONS(M) M(cos) M(exp) M(exp2) M(log) M(log2) M(rsqrt) M(sin) M(pow)
__MSL_FLOAT1(cos, ::__msl::target_fast::cos)
__MSL_FLOAT1(exp, ::__msl::target_fast::exp)
__MSL_FLOAT1(exp2, ::__msl::target_fast::exp2)
__MSL_FLOAT1(log, ::__msl::target_fast::log)
__MSL_FLOAT1(log2, ::__msl::target_fast::log2)
__MSL_FLOAT1(rsqrt, ::__msl::target_fast::rsqrt)
__MSL_FLOAT1(sin, ::__msl::target_fast::sin)
__MSL_FLOAT2(pow, ::__msl::target_fast::pow)
template <class V>
__MSL_FN V sincos(V x, V& cosine) {
  cosine = cos(x);
  return sin(x);
}

}  // namespace fast

// Functions with a fast version of their own come from the namespace of the math mode; all others
// are the same in all three namespaces.
// clang-format off
#define __MSL_SHARED_FUNCTIONS(M) \
  M(acos) M(acosh) M(asin) M(asinh) M(atan) M(atanh) M(ceil) M(cosh) M(cospi) M(exp10) M(fabs) \
  M(floor) M(log10) M(rint) M(round) M(sinh) M(sinpi) M(sqrt) M(tan) M(tanh) M(tanpi) \
  M(trunc) M(atan2) M(copysign) M(divide) M(fdim) M(fmax) M(fmin) M(fmod) M(powr) M(fma) \
  M(fmax3) M(fmedian3) M(fmin3) M(fract) M(nextafter) M(ilogb) M(ldexp) M(frexp) M(modf)
// clang-format on
#define __MSL_USE_PRECISE(name) using precise::name;
#define __MSL_USE_FAST(name) using fast::name;
namespace fast {
__MSL_SHARED_FUNCTIONS(__MSL_USE_PRECISE)
}
__MSL_SHARED_FUNCTIONS(__MSL_USE_PRECISE)
#ifdef __METAL_MAYBE_FAST_MATH__
__MSL_FAST_FUNCTIONS(__MSL_USE_FAST)
using fast::sincos;
#else
__MSL_FAST_FUNCTIONS(__MSL_USE_PRECISE)
using precise::sincos;
#endif

}  // namespace metal

#pragma float_control(pop)
