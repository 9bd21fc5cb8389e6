// Names from inside Apple's headers that published kernels use. The last argument of the __metal_
// functions chooses fast or precise math.
#pragma once
#pragma clang system_header

namespace metal {

template <class... B>
struct _disjunction : bool_constant<(B::value || ...)> {};
template <class... B>
struct _conjunction : bool_constant<(B::value && ...)> {};
template <class B>
struct _negation : bool_constant<!B::value> {};

template <class T>
struct __is_valid_simdgroup_type : bool_constant<::__msl::is_lane_type<T>> {};

template <class T>
struct _fp_encoding_traits;
#define __MSL_ENCODING(T, Bits, inf, quiet, sign)                             \
  template <>                                                                 \
  struct _fp_encoding_traits<T> {                                             \
    static constexpr Bits inf_mask = inf, nan_mask = quiet, sign_mask = sign; \
    static constexpr Bits magnitude_mask = Bits(~sign);                       \
  };
__MSL_ENCODING(float, uint, 0x7f800000u, 0x7fc00000u, 0x80000000u)
__MSL_ENCODING(half, ushort, 0x7c00, 0x7e00, 0x8000)
__MSL_ENCODING(bfloat, ushort, 0x7f80, 0x7fc0, 0x8000)

}  // namespace metal

#define __MSL_INTERNAL1(name)                                     \
  template <class T>                                              \
  __MSL_FN auto __metal_##name(T x, int fast = 0) {               \
    return fast ? metal::fast::name(x) : metal::precise::name(x); \
  }
#define __MSL_INTERNAL2(name)                                           \
  template <class T, class U>                                           \
  __MSL_FN auto __metal_##name(T x, U y, int fast = 0) {                \
    return fast ? metal::fast::name(x, y) : metal::precise::name(x, y); \
  }
#define __MSL_INTERNAL3(name)                            \
  template <class T>                                     \
  __MSL_FN auto __metal_##name(T x, T y, T z, int = 0) { \
    return metal::precise::name(x, y, z);                \
  }
__MSL_INTERNAL1(fabs)
__MSL_INTERNAL1(acos)
__MSL_INTERNAL1(acosh)
__MSL_INTERNAL1(asin)
__MSL_INTERNAL1(asinh)
__MSL_INTERNAL1(atan)
__MSL_INTERNAL1(atanh)
__MSL_INTERNAL1(ceil)
__MSL_INTERNAL1(cos)
__MSL_INTERNAL1(cosh)
__MSL_INTERNAL1(cospi)
__MSL_INTERNAL1(exp)
__MSL_INTERNAL1(exp10)
__MSL_INTERNAL1(exp2)
__MSL_INTERNAL1(floor)
__MSL_INTERNAL1(fract)
__MSL_INTERNAL1(log)
__MSL_INTERNAL1(log10)
__MSL_INTERNAL1(log2)
__MSL_INTERNAL1(rint)
__MSL_INTERNAL1(round)
__MSL_INTERNAL1(rsqrt)
__MSL_INTERNAL1(sin)
__MSL_INTERNAL1(sinh)
__MSL_INTERNAL1(sinpi)
__MSL_INTERNAL1(sqrt)
__MSL_INTERNAL1(tan)
__MSL_INTERNAL1(tanh)
__MSL_INTERNAL1(tanpi)
__MSL_INTERNAL1(trunc)
__MSL_INTERNAL2(atan2)
__MSL_INTERNAL2(divide)
__MSL_INTERNAL2(fmax)
__MSL_INTERNAL2(fmin)
__MSL_INTERNAL2(fmod)
__MSL_INTERNAL2(ldexp)
__MSL_INTERNAL2(nextafter)
__MSL_INTERNAL2(pow)
__MSL_INTERNAL2(powr)
__MSL_INTERNAL3(fma)
__MSL_INTERNAL3(fmax3)
__MSL_INTERNAL3(fmin3)
__MSL_INTERNAL3(fmedian3)
template <class T>
__MSL_FN T __metal_frexp(T x, int* exponent, int = 0) {
  return metal::frexp(x, *exponent);
}

#define __MSL_INTERNAL_LANE1(name) \
  template <class T>               \
  __MSL_FN T __metal_##name(T x) { \
    return metal::name(x);         \
  }
#define __MSL_INTERNAL_LANE2(name)              \
  template <class T>                            \
  __MSL_FN T __metal_##name(T x, ushort lane) { \
    return metal::name(x, lane);                \
  }
__MSL_INTERNAL_LANE1(simd_sum)
__MSL_INTERNAL_LANE1(simd_product)
__MSL_INTERNAL_LANE1(simd_min)
__MSL_INTERNAL_LANE1(simd_max)
__MSL_INTERNAL_LANE1(simd_prefix_exclusive_sum)
__MSL_INTERNAL_LANE1(simd_prefix_exclusive_product)
__MSL_INTERNAL_LANE1(simd_prefix_inclusive_sum)
__MSL_INTERNAL_LANE1(simd_prefix_inclusive_product)
__MSL_INTERNAL_LANE1(simd_and)
__MSL_INTERNAL_LANE1(simd_or)
__MSL_INTERNAL_LANE2(simd_broadcast)
__MSL_INTERNAL_LANE2(simd_shuffle)
__MSL_INTERNAL_LANE2(simd_shuffle_up)
__MSL_INTERNAL_LANE2(simd_shuffle_down)
__MSL_INTERNAL_LANE2(simd_shuffle_xor)
__MSL_INTERNAL_LANE2(simd_shuffle_rotate_up)
__MSL_INTERNAL_LANE2(simd_shuffle_rotate_down)
// Kernels wrap this one for floating types too; the bits are combined.
template <class T>
__MSL_FN T __metal_simd_xor(T x) {
  if constexpr (__msl::is_float<T>) {
    return __builtin_bit_cast(T, metal::simd_xor(__builtin_bit_cast(__msl::float_bits_t<T>, x)));
  } else {
    return metal::simd_xor(x);
  }
}
template <class T>
__MSL_FN T __metal_simd_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo) {
  return metal::simd_shuffle_and_fill_up(data, filling, delta, modulo);
}
template <class T>
__MSL_FN T __metal_simd_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo) {
  return metal::simd_shuffle_and_fill_down(data, filling, delta, modulo);
}
__MSL_CONSTEXPR_FN ushort __metal_get_simdgroup_size(ushort) {
  return MSL_SIMD_WIDTH;
}
__MSL_FN ushort __metal_get_thread_index_in_simdgroup(ushort) {
  return ushort(__msl_lane_id());
}
