// metal_common: min, max, clamp and the blending functions.
#pragma once
#pragma clang system_header

namespace __msl {

template <class T>
__MSL_CONSTEXPR_FN T min(T x, T y) {
  return y < x ? y : x;
}
template <class T>
__MSL_CONSTEXPR_FN T max(T x, T y) {
  return x < y ? y : x;
}
template <class T>
__MSL_CONSTEXPR_FN T min3(T x, T y, T z) {
  return min(x, min(y, z));
}
template <class T>
__MSL_CONSTEXPR_FN T max3(T x, T y, T z) {
  return max(x, max(y, z));
}
template <class T>
__MSL_CONSTEXPR_FN T median3(T x, T y, T z) {
  return max(min(x, y), min(max(x, y), z));
}
template <class T>
__MSL_CONSTEXPR_FN T clamp(T x, T low, T high) {
  return min(max(x, low), high);
}

// A NaN is clamped to the lower bound, as fmax and fmin have it.
__MSL_FN float fclamp(float x, float low, float high) {
  return fmin(fmax(x, low), high);
}
__MSL_FN float saturate(float x) {
  return fclamp(x, 0.0f, 1.0f);
}
__MSL_FN float sign(float x) {
  float s = x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;  // keeps the sign of zero
  return x != x ? 0.0f : s;
}
__MSL_FN float step(float edge, float x) {
  return x < edge ? 0.0f : 1.0f;
}
__MSL_FN float mix(float x, float y, float a) {
  return fma(a, y - x, x);
}
__MSL_FN float smoothstep(float edge0, float edge1, float x) {
  float t = saturate((x - edge0) / (edge1 - edge0));
  return t * t * (3.0f - 2.0f * t);
}

// Scalar pairs of which at least one is floating and no plain overload fits: they meet in a float
// type.
template <class A, class B>
inline constexpr bool is_mixed_float =
    is_number<A> && is_number<B> && (is_float<A> || is_float<B>) &&
    !(__is_same(A, B) && is_listed_float<A>);
template <class A, class B, class C>
inline constexpr bool is_mixed_float3 =
    is_number<A> && is_number<B> && is_number<C> && (is_float<A> || is_float<B> || is_float<C>) &&
    !(__is_same(A, B) && __is_same(A, C) && is_listed_float<A>);

}  // namespace __msl

namespace metal {

// Functions that exist for integers and for floats: `name` from `integer` and `floating`.
#define __MSL_BOTH2(name, integer, floating)                                         \
  __MSL_EACH_INTEGER(__MSL_INTEGER2_OF, name, integer)                               \
  __MSL_FN float name(float x, float y) {                                            \
    return floating(x, y);                                                           \
  }                                                                                  \
  __MSL_FN half name(half x, half y) {                                               \
    return half(floating(float(x), float(y)));                                       \
  }                                                                                  \
  template <class A, class B,                                                        \
            __MSL_IF(::__msl::is_integer<A>&& ::__msl::is_integer<B> &&              \
                     !(__is_same(A, B) && ::__msl::is_listed_integer<A>))>           \
  __MSL_CONSTEXPR_FN auto name(A x, B y) {                                           \
    using T = ::__msl::common_t<A, B>;                                               \
    return integer<T>(T(x), T(y));                                                   \
  }                                                                                  \
  template <class A, class B, __MSL_IF(::__msl::is_mixed_float<A, B>), class = void> \
  __MSL_FN auto name(A x, B y) {                                                     \
    using R = ::__msl::float_for_t<::__msl::common_t<A, B>>;                         \
    return R(floating(float(x), float(y)));                                          \
  }                                                                                  \
  __MSL_VECTOR2(name, is_vector_call)
#define __MSL_BOTH3(name, integer, floating)                                                      \
  __MSL_EACH_INTEGER(__MSL_INTEGER3_OF, name, integer)                                            \
  __MSL_FN float name(float x, float y, float z) {                                                \
    return floating(x, y, z);                                                                     \
  }                                                                                               \
  __MSL_FN half name(half x, half y, half z) {                                                    \
    return half(floating(float(x), float(y), float(z)));                                          \
  }                                                                                               \
  template <class A, class B, class C,                                                            \
            __MSL_IF(::__msl::is_integer<A>&& ::__msl::is_integer<B>&& ::__msl::is_integer<C> &&  \
                     !(__is_same(A, B) && __is_same(A, C) && ::__msl::is_listed_integer<A>))>     \
  __MSL_CONSTEXPR_FN auto name(A x, B y, C z) {                                                   \
    using T = ::__msl::common_t<::__msl::common_t<A, B>, C>;                                      \
    return integer<T>(T(x), T(y), T(z));                                                          \
  }                                                                                               \
  template <class A, class B, class C, __MSL_IF(::__msl::is_mixed_float3<A, B, C>), class = void> \
  __MSL_FN auto name(A x, B y, C z) {                                                             \
    using R = ::__msl::float_for_t<::__msl::common_t<::__msl::common_t<A, B>, C>>;                \
    return R(floating(float(x), float(y), float(z)));                                             \
  }                                                                                               \
  __MSL_VECTOR3(name, is_vector_call)

__MSL_BOTH2(min, ::__msl::min, ::__msl::fmin)
__MSL_BOTH2(max, ::__msl::max, ::__msl::fmax)
__MSL_BOTH3(min3, ::__msl::min3, ::__msl::fmin3)
__MSL_BOTH3(max3, ::__msl::max3, ::__msl::fmax3)
__MSL_BOTH3(median3, ::__msl::median3, ::__msl::fmedian3)
__MSL_BOTH3(clamp, ::__msl::clamp, ::__msl::fclamp)

__MSL_FLOAT1(saturate, ::__msl::saturate)
__MSL_FLOAT1(sign, ::__msl::sign)
__MSL_FLOAT2(step, ::__msl::step)
__MSL_FLOAT3(mix, ::__msl::mix)
__MSL_FLOAT3(smoothstep, ::__msl::smoothstep)

#define __MSL_COMMON_FUNCTIONS(M) \
  M(min) M(max) M(min3) M(max3) M(median3) M(clamp) M(saturate) M(sign) M(step) M(mix) M(smoothstep)
#define __MSL_USE_METAL(name) using metal::name;
namespace fast {
__MSL_COMMON_FUNCTIONS(__MSL_USE_METAL)
}
namespace precise {
__MSL_COMMON_FUNCTIONS(__MSL_USE_METAL)
}

}  // namespace metal
