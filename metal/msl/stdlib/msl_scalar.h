// Scalar types, their literals and conversions.
#pragma once
#pragma clang system_header

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef __bf16 bfloat;
typedef _Float16 float16_t;
typedef float float32_t;

constexpr half operator""h(long double v) {
  return half(v);
}
constexpr half operator""h(unsigned long long v) {
  return half(v);
}
constexpr half operator"" H(long double v) {
  return half(v);
}
constexpr half operator"" H(unsigned long long v) {
  return half(v);
}
constexpr bfloat operator"" bf(long double v) {
  return bfloat(float(v));
}
constexpr bfloat operator"" bf(unsigned long long v) {
  return bfloat(float(v));
}
constexpr bfloat operator"" BF(long double v) {
  return bfloat(float(v));
}

namespace __msl {

template <class T>
inline constexpr bool is_half = __is_same(__remove_cv(T), half);
template <class T>
inline constexpr bool is_bfloat = __is_same(__remove_cv(T), bfloat);
template <class T>
inline constexpr bool is_float = __is_floating_point(T) || is_half<T> || is_bfloat<T>;
template <class T>
inline constexpr bool is_integer = __is_integral(T);
template <class T>
inline constexpr bool is_number = is_float<T> || is_integer<T>;
// What a vector component may be made from.
template <class T>
inline constexpr bool is_component = is_number<T> || __is_enum(T);

// The type two scalars meet in: C++'s own rule, except that small integers keep their type when
// both agree, integers adapt to half and bfloat, and half meets bfloat in float.
template <class A, class B>
struct common {
  using type = decltype(A() + B());
};
template <class A>
struct common<A, A> {
  using type = A;
};
template <>
struct common<half, bfloat> {
  using type = float;
};
template <>
struct common<bfloat, half> {
  using type = float;
};
template <>
struct common<double, float> {
  using type = float;
};
template <>
struct common<float, double> {
  using type = float;
};
template <class A, class B>
using common_t = typename common<A, B>::type;

}  // namespace __msl

// static_cast of the user's text (and of this library: the word itself is rewritten everywhere).
// Clang refuses to convert directly between half and bfloat, and a vector of another element type
// is converted component by component.
template <class T, class U>
__MSL_CONSTEXPR_FN T __msl_static_cast(U&& value) {
  using From = __remove_cv(__remove_reference_t(U));
  if constexpr ((__msl::is_half<T> && __msl::is_bfloat<From>) ||
                (__msl::is_bfloat<T> && __msl::is_half<From>)) {
    return (T)(float)value;
  } else {
    return (T)(U&&)value;
  }
}

namespace metal {
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;

// Reinterprets the bits of a scalar or vector as another type of the same size.
template <class To, class From, __MSL_IF(sizeof(To) == sizeof(From))>
__MSL_CONSTEXPR_FN To as_type(From value) {
  return __builtin_bit_cast(To, value);
}
}  // namespace metal

using metal::as_type;
