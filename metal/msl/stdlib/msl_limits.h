// metal_limits. User code may specialise _numeric_limits_impl for its own types.
#pragma once
#pragma clang system_header

namespace metal {

template <class T>
struct _numeric_limits_impl {
  static constexpr bool is_specialized = false;
};

template <class T>
struct numeric_limits : _numeric_limits_impl<T> {};
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};
template <class T>
struct numeric_limits<volatile T> : numeric_limits<T> {};
template <class T>
struct numeric_limits<const volatile T> : numeric_limits<T> {};

template <class T>
struct __msl_integer_limits {
  static constexpr bool is_specialized = true, is_integer = true, is_exact = true;
  static constexpr bool is_signed = T(-1) < T(0), is_bounded = true;
  static constexpr bool is_modulo = true, is_iec559 = false, has_infinity = false;
  static constexpr bool has_quiet_NaN = false, has_signaling_NaN = false;
  static constexpr int radix = 2, digits = __is_same(T, bool) ? 1 : sizeof(T) * 8 - is_signed;
  static constexpr int digits10 = digits * 30103 / 100000, max_digits10 = 0;
  static constexpr int min_exponent = 0, max_exponent = 0;
  static constexpr int min_exponent10 = 0, max_exponent10 = 0;
  static constexpr T max() { return T(~0ul >> (64 - digits)); }
  static constexpr T min() { return is_signed ? T(~max()) : T(0); }
  static constexpr T lowest() { return min(); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T round_error() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T signaling_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
};
#define __MSL_INTEGER_LIMITS(...) \
  template <>                     \
  struct _numeric_limits_impl<__VA_ARGS__> : __msl_integer_limits<__VA_ARGS__> {};
__MSL_INTEGER_LIMITS(bool)
__MSL_INTEGER_LIMITS(char)
__MSL_INTEGER_LIMITS(signed char)
__MSL_INTEGER_LIMITS(unsigned char)
__MSL_INTEGER_LIMITS(short)
__MSL_INTEGER_LIMITS(unsigned short)
__MSL_INTEGER_LIMITS(int)
__MSL_INTEGER_LIMITS(unsigned int)
__MSL_INTEGER_LIMITS(long)
__MSL_INTEGER_LIMITS(unsigned long)
__MSL_INTEGER_LIMITS(long long)
__MSL_INTEGER_LIMITS(unsigned long long)

#define __MSL_FLOAT_LIMITS(T, Bits, mantissa, d10, md10, emin, emax, e10min, e10max, largest, \
                           smallest, eps, inf, nan)                                           \
  template <>                                                                                 \
  struct _numeric_limits_impl<T> {                                                            \
    static constexpr bool is_specialized = true, is_integer = false, is_exact = false;        \
    static constexpr bool is_signed = true, is_bounded = true, is_modulo = false;             \
    static constexpr bool is_iec559 = true, has_infinity = true;                              \
    static constexpr bool has_quiet_NaN = true, has_signaling_NaN = true;                     \
    static constexpr int radix = 2, digits = mantissa, digits10 = d10, max_digits10 = md10;   \
    static constexpr int min_exponent = emin, max_exponent = emax;                            \
    static constexpr int min_exponent10 = e10min, max_exponent10 = e10max;                    \
    static constexpr T bits(Bits b) {                                                         \
      return __builtin_bit_cast(T, b);                                                        \
    }                                                                                         \
    static constexpr T max() {                                                                \
      return bits(largest);                                                                   \
    }                                                                                         \
    static constexpr T lowest() {                                                             \
      return bits(Bits(largest | (Bits(1) << (sizeof(Bits) * 8 - 1))));                       \
    }                                                                                         \
    static constexpr T min() {                                                                \
      return bits(smallest);                                                                  \
    }                                                                                         \
    static constexpr T denorm_min() {                                                         \
      return bits(1);                                                                         \
    }                                                                                         \
    static constexpr T epsilon() {                                                            \
      return bits(eps);                                                                       \
    }                                                                                         \
    static constexpr T round_error() {                                                        \
      return T(0.5f);                                                                         \
    }                                                                                         \
    static constexpr T infinity() {                                                           \
      return bits(inf);                                                                       \
    }                                                                                         \
    static constexpr T quiet_NaN() {                                                          \
      return bits(nan);                                                                       \
    }                                                                                         \
    static constexpr T signaling_NaN() {                                                      \
      return bits(inf | 1);                                                                   \
    }                                                                                         \
  };
__MSL_FLOAT_LIMITS(float, unsigned, 24, 6, 9, -125, 128, -37, 38, 0x7f7fffffu, 0x00800000u,
                   0x34000000u, 0x7f800000u, 0x7fc00000u)
__MSL_FLOAT_LIMITS(half, ushort, 11, 3, 5, -13, 16, -4, 4, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00)
__MSL_FLOAT_LIMITS(bfloat, ushort, 8, 2, 4, -125, 128, -37, 38, 0x7f7f, 0x0080, 0x3c00, 0x7f80,
                   0x7fc0)

}  // namespace metal
