// metal_relational: classification, any, all, select.
#pragma once
#pragma clang system_header

namespace __msl {

template <class T>
struct float_fields;  // bits of one, exponent mask and sign
template <>
struct float_fields<float> {
  static constexpr unsigned exponent = 0x7f800000u, sign = 0x80000000u, hidden = 0x00800000u;
};
template <>
struct float_fields<half> {
  static constexpr unsigned short exponent = 0x7c00, sign = 0x8000, hidden = 0x0400;
};
template <>
struct float_fields<bfloat> {
  static constexpr unsigned short exponent = 0x7f80, sign = 0x8000, hidden = 0x0080;
};
template <class T>
__MSL_CONSTEXPR_FN float_bits_t<T> magnitude(T x) {
  return float_bits_t<T>(__builtin_bit_cast(float_bits_t<T>, x) & ~float_fields<T>::sign);
}

// On the bits, so that the answers hold in fast math mode too.
template <class T>
__MSL_CONSTEXPR_FN bool isnan(T x) {
  return magnitude(x) > float_fields<T>::exponent;
}
template <class T>
__MSL_CONSTEXPR_FN bool isinf(T x) {
  return magnitude(x) == float_fields<T>::exponent;
}
template <class T>
__MSL_CONSTEXPR_FN bool isfinite(T x) {
  return magnitude(x) < float_fields<T>::exponent;
}
template <class T>
__MSL_CONSTEXPR_FN bool isnormal(T x) {
  return magnitude(x) < float_fields<T>::exponent && magnitude(x) >= float_fields<T>::hidden;
}
template <class T>
__MSL_CONSTEXPR_FN bool signbit(T x) {
  return (__builtin_bit_cast(float_bits_t<T>, x) & float_fields<T>::sign) != 0;
}
template <class T>
__MSL_CONSTEXPR_FN bool isordered(T x, T y) {
  return !isnan(x) && !isnan(y);
}
template <class T>
__MSL_CONSTEXPR_FN bool isunordered(T x, T y) {
  return isnan(x) || isnan(y);
}

}  // namespace __msl

namespace metal {

#define __MSL_CLASSIFY(name)                                                          \
  __MSL_CONSTEXPR_FN bool name(float x) {                                             \
    return ::__msl::name(x);                                                          \
  }                                                                                   \
  __MSL_CONSTEXPR_FN bool name(half x) {                                              \
    return ::__msl::name(x);                                                          \
  }                                                                                   \
  template <class T, __MSL_IF(::__msl::is_number<T> && !::__msl::is_listed_float<T>)> \
  __MSL_CONSTEXPR_FN bool name(T x) {                                                 \
    return ::__msl::name(::__msl::float_for_t<T>(x));                                 \
  }                                                                                   \
  __MSL_VECTOR1(name, is_float_vector)
__MSL_CLASSIFY(isnan)
__MSL_CLASSIFY(isinf)
__MSL_CLASSIFY(isfinite)
__MSL_CLASSIFY(isnormal)
__MSL_CLASSIFY(signbit)

#define __MSL_COMPARE_NANS(name)                      \
  __MSL_CONSTEXPR_FN bool name(float x, float y) {    \
    return ::__msl::name(x, y);                       \
  }                                                   \
  __MSL_CONSTEXPR_FN bool name(half x, half y) {      \
    return ::__msl::name(x, y);                       \
  }                                                   \
  template <class T, __MSL_IF(::__msl::is_bfloat<T>)> \
  __MSL_CONSTEXPR_FN bool name(T x, T y) {            \
    return ::__msl::name(x, y);                       \
  }                                                   \
  __MSL_VECTOR2(name, is_float_vector_call)
__MSL_COMPARE_NANS(isordered)
__MSL_COMPARE_NANS(isunordered)

__MSL_CONSTEXPR_FN bool any(bool x) {
  return x;
}
__MSL_CONSTEXPR_FN bool any(vec<bool, 2> v) {
  return v.x || v.y;
}
__MSL_CONSTEXPR_FN bool any(vec<bool, 3> v) {
  return v.x || v.y || v.z;
}
__MSL_CONSTEXPR_FN bool any(vec<bool, 4> v) {
  return v.x || v.y || v.z || v.w;
}
__MSL_CONSTEXPR_FN bool all(bool x) {
  return x;
}
__MSL_CONSTEXPR_FN bool all(vec<bool, 2> v) {
  return v.x && v.y;
}
__MSL_CONSTEXPR_FN bool all(vec<bool, 3> v) {
  return v.x && v.y && v.z;
}
__MSL_CONSTEXPR_FN bool all(vec<bool, 4> v) {
  return v.x && v.y && v.z && v.w;
}

// b where the condition holds, else a.
template <class A, class B, __MSL_IF(::__msl::is_number<A>&& ::__msl::is_number<B>)>
__MSL_CONSTEXPR_FN auto select(A a, B b, bool condition) {
  using T = ::__msl::common_t<A, B>;
  return condition ? T(b) : T(a);
}
template <class A, class B, int N, __MSL_IF(::__msl::is_vector_call<A, B>)>
__MSL_CONSTEXPR_FN auto select(A a, B b, vec<bool, N> condition) {
  using T = ::__msl::element_t<::__msl::first_vector_t<A, B>>;
  return ::__msl::generate<N>([&](int i) {
    return condition[i] ? ::__msl::component<T>(b, i) : ::__msl::component<T>(a, i);
  });
}
template <class A, class B, __MSL_IF(::__msl::is_vector_call<A, B>), class = void>
__MSL_CONSTEXPR_FN auto select(A a, B b, bool condition) {
  using V = ::__msl::first_vector_t<A, B>;
  return condition ? V(b) : V(a);
}

}  // namespace metal
