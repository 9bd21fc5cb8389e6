// How one scalar function becomes the overload set MSL promises: plain functions for the exact
// scalar types (so that they win over templates of the user, as on Apple's compiler), a template
// for mixed and rare scalars, and templates for vectors with any mix of vector, packed vector and
// scalar.
#pragma once
#pragma clang system_header

namespace __msl {

// Types with plain overloads.
template <class T>
inline constexpr bool is_listed_float = __is_same(T, float) || is_half<T>;
template <class T>
inline constexpr bool is_listed_integer =
    __is_same(T, char) || __is_same(T, unsigned char) || __is_same(T, short) ||
    __is_same(T, unsigned short) || __is_same(T, int) || __is_same(T, unsigned) ||
    __is_same(T, long) || __is_same(T, unsigned long);

// The floating type a mixed call computes in and returns: integers and double count as float.
template <class T>
struct float_for {
  using type = float;
};
template <>
struct float_for<half> {
  using type = half;
};
template <>
struct float_for<bfloat> {
  using type = bfloat;
};
template <class T>
using float_for_t = typename float_for<T>::type;

template <class T>
inline constexpr bool is_vector = vector_of<T>::is_vector;
template <class T>
using element_t = typename vector_of<T>::element;
// A vector or packed vector of floating components.
template <class T>
inline constexpr bool is_float_vector = is_vector<T> && is_float<element_t<T>>;
template <class T>
inline constexpr bool is_integer_vector = is_vector<T> && is_integer<element_t<T>>;

// Arguments of one vector call: each is a scalar or a vector of the same size and element type.
template <class V, class A>
inline constexpr bool fits =
    is_vector<A> ? vector_of<A>::size == vector_of<V>::size && __is_same(element_t<A>, element_t<V>)
                 : is_component<A>;
template <class A, class... More>
struct first_vector {
  using type = A;
};
template <class A, class B, class... More>
struct first_vector<A, B, More...> {
  using type = typename first_vector<B, More...>::type;
};
template <class T, int N, class B, class... More>
struct first_vector<metal::vec<T, N>, B, More...> {
  using type = metal::vec<T, N>;
};
template <class T, int N, class B, class... More>
struct first_vector<metal::packed_vec<T, N>, B, More...> {
  using type = metal::vec<T, N>;
};
template <class... A>
using first_vector_t = typename first_vector<A...>::type;
template <class... A>
inline constexpr bool is_vector_call =
    is_vector<first_vector_t<A...>> && (fits<first_vector_t<A...>, A> && ...);
template <class... A>
inline constexpr bool is_float_vector_call =
    is_vector_call<A...> && is_float<element_t<first_vector_t<A...>>>;
template <class... A>
inline constexpr bool is_integer_vector_call =
    is_vector_call<A...> && is_integer<element_t<first_vector_t<A...>>>;

// Component i of an argument, as element type T.
template <class T, class A>
__MSL_CONSTEXPR_FN T component(const A& a, int i) {
  if constexpr (is_vector<A>)
    return a[i];
  else
    return __msl_static_cast<T>(a);
}

}  // namespace __msl

// Vector forms of `name`, each applying the scalar overloads of the current namespace.
#define __MSL_VECTOR1(name, predicate)                                                        \
  template <class V, __MSL_IF(::__msl::predicate<V>)>                                         \
  __MSL_FN auto name(V v) {                                                                   \
    return ::__msl::generate<::__msl::vector_of<V>::size>([&](int i) { return name(v[i]); }); \
  }
#define __MSL_VECTOR2(name, predicate)                                                          \
  template <class A, class B, __MSL_IF(::__msl::predicate<A, B>)>                               \
  __MSL_FN auto name(A a, B b) {                                                                \
    using V = ::__msl::first_vector_t<A, B>;                                                    \
    using T = ::__msl::element_t<V>;                                                            \
    return ::__msl::generate<::__msl::vector_of<V>::size>(                                      \
        [&](int i) { return name(::__msl::component<T>(a, i), ::__msl::component<T>(b, i)); }); \
  }
#define __MSL_VECTOR3(name, predicate)                                        \
  template <class A, class B, class C, __MSL_IF(::__msl::predicate<A, B, C>)> \
  __MSL_FN auto name(A a, B b, C c) {                                         \
    using V = ::__msl::first_vector_t<A, B, C>;                               \
    using T = ::__msl::element_t<V>;                                          \
    return ::__msl::generate<::__msl::vector_of<V>::size>([&](int i) {        \
      return name(::__msl::component<T>(a, i), ::__msl::component<T>(b, i),   \
                  ::__msl::component<T>(c, i));                               \
    });                                                                       \
  }

// float -> float functions; `fn` takes and returns float.
#define __MSL_FLOAT1(name, fn)                                                        \
  __MSL_FN float name(float x) {                                                      \
    return fn(x);                                                                     \
  }                                                                                   \
  __MSL_FN half name(half x) {                                                        \
    return half(fn(float(x)));                                                        \
  }                                                                                   \
  template <class T, __MSL_IF(::__msl::is_number<T> && !::__msl::is_listed_float<T>)> \
  __MSL_FN auto name(T x) {                                                           \
    return ::__msl::float_for_t<T>(fn(float(x)));                                     \
  }                                                                                   \
  __MSL_VECTOR1(name, is_float_vector)
#define __MSL_FLOAT2(name, fn)                                           \
  __MSL_FN float name(float x, float y) {                                \
    return fn(x, y);                                                     \
  }                                                                      \
  __MSL_FN half name(half x, half y) {                                   \
    return half(fn(float(x), float(y)));                                 \
  }                                                                      \
  template <class A, class B,                                            \
            __MSL_IF(::__msl::is_number<A>&& ::__msl::is_number<B> &&    \
                     !(__is_same(A, B) && ::__msl::is_listed_float<A>))> \
  __MSL_FN auto name(A x, B y) {                                         \
    using R = ::__msl::float_for_t<::__msl::common_t<A, B>>;             \
    return R(fn(float(x), float(y)));                                    \
  }                                                                      \
  __MSL_VECTOR2(name, is_float_vector_call)
#define __MSL_FLOAT3(name, fn)                                                                \
  __MSL_FN float name(float x, float y, float z) {                                            \
    return fn(x, y, z);                                                                       \
  }                                                                                           \
  __MSL_FN half name(half x, half y, half z) {                                                \
    return half(fn(float(x), float(y), float(z)));                                            \
  }                                                                                           \
  template <class A, class B, class C,                                                        \
            __MSL_IF(::__msl::is_number<A>&& ::__msl::is_number<B>&& ::__msl::is_number<C> && \
                     !(__is_same(A, B) && __is_same(A, C) && ::__msl::is_listed_float<A>))>   \
  __MSL_FN auto name(A x, B y, C z) {                                                         \
    using R = ::__msl::float_for_t<::__msl::common_t<::__msl::common_t<A, B>, C>>;            \
    return R(fn(float(x), float(y), float(z)));                                               \
  }                                                                                           \
  __MSL_VECTOR3(name, is_float_vector_call)

// Integer functions; `fn` is a template over the type. M is expanded for each listed type.
#define __MSL_EACH_INTEGER(M, name, fn) \
  M(name, fn, char)                     \
  M(name, fn, unsigned char)            \
  M(name, fn, short)                    \
  M(name, fn, unsigned short)           \
  M(name, fn, int)                      \
  M(name, fn, unsigned)                 \
  M(name, fn, long)                     \
  M(name, fn, unsigned long)
#define __MSL_INTEGER1_OF(name, fn, T) \
  __MSL_CONSTEXPR_FN auto name(T x) {  \
    return fn<T>(x);                   \
  }
#define __MSL_INTEGER2_OF(name, fn, T)     \
  __MSL_CONSTEXPR_FN auto name(T x, T y) { \
    return fn<T>(x, y);                    \
  }
#define __MSL_INTEGER3_OF(name, fn, T)          \
  __MSL_CONSTEXPR_FN auto name(T x, T y, T z) { \
    return fn<T>(x, y, z);                      \
  }
#define __MSL_INTEGER1(name, fn)                                                         \
  __MSL_EACH_INTEGER(__MSL_INTEGER1_OF, name, fn)                                        \
  template <class T, __MSL_IF(::__msl::is_integer<T> && !::__msl::is_listed_integer<T>)> \
  __MSL_CONSTEXPR_FN auto name(T x) {                                                    \
    return fn<T>(x);                                                                     \
  }                                                                                      \
  __MSL_VECTOR1(name, is_integer_vector)
#define __MSL_INTEGER2(name, fn)                                           \
  __MSL_EACH_INTEGER(__MSL_INTEGER2_OF, name, fn)                          \
  template <class A, class B,                                              \
            __MSL_IF(::__msl::is_integer<A>&& ::__msl::is_integer<B> &&    \
                     !(__is_same(A, B) && ::__msl::is_listed_integer<A>))> \
  __MSL_CONSTEXPR_FN auto name(A x, B y) {                                 \
    using T = ::__msl::common_t<A, B>;                                     \
    return fn<T>(T(x), T(y));                                              \
  }                                                                        \
  __MSL_VECTOR2(name, is_integer_vector_call)
#define __MSL_INTEGER3(name, fn)                                                                 \
  __MSL_EACH_INTEGER(__MSL_INTEGER3_OF, name, fn)                                                \
  template <class A, class B, class C,                                                           \
            __MSL_IF(::__msl::is_integer<A>&& ::__msl::is_integer<B>&& ::__msl::is_integer<C> && \
                     !(__is_same(A, B) && __is_same(A, C) && ::__msl::is_listed_integer<A>))>    \
  __MSL_CONSTEXPR_FN auto name(A x, B y, C z) {                                                  \
    using T = ::__msl::common_t<::__msl::common_t<A, B>, C>;                                     \
    return fn<T>(T(x), T(y), T(z));                                                              \
  }                                                                                              \
  __MSL_VECTOR3(name, is_integer_vector_call)
