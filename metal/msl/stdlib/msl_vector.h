// vec<T, 2..4>: named components, swizzles, component-wise operators. Size and alignment as MSL
// lays them out (three components take the space of four). Classes without a union, so that vectors
// are usable in constant expressions and come apart into scalars in the optimiser.
#pragma once
#pragma clang system_header

#include "msl_swizzle.h"

namespace __msl {

// Shift counts are masked to the operand's width, which C++ widens first.
template <class T>
__MSL_CONSTEXPR_FN T shift_left(T a, T b) {
  return T((unsigned long)a << ((unsigned long)b & (sizeof(T) * 8 - 1)));
}
template <class T>
__MSL_CONSTEXPR_FN T shift_right(T a, T b) {
  return T(a >> ((unsigned long)b & (sizeof(T) * 8 - 1)));
}

}  // namespace __msl

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

// Applies E to each component name, as a list.
#define __MSL_EACH_2(E) E(x), E(y)
#define __MSL_EACH_3(E) E(x), E(y), E(z)
#define __MSL_EACH_4(E) E(x), E(y), E(z), E(w)

#define __MSL_C_CONVERT(c) __msl_static_cast<T>(o.c)
#define __MSL_C_ADD(c) T(a.c + b.c)
#define __MSL_C_SUB(c) T(a.c - b.c)
#define __MSL_C_MUL(c) T(a.c* b.c)
#define __MSL_C_DIV(c) T(a.c / b.c)
#define __MSL_C_REM(c) T(a.c % b.c)
#define __MSL_C_AND(c) T(a.c & b.c)
#define __MSL_C_OR(c) T(a.c | b.c)
#define __MSL_C_XOR(c) T(a.c ^ b.c)
#define __MSL_C_SHL(c) ::__msl::shift_left<T>(a.c, b.c)
#define __MSL_C_SHR(c) ::__msl::shift_right<T>(a.c, b.c)
#define __MSL_C_EQ(c) a.c == b.c
#define __MSL_C_NE(c) a.c != b.c
#define __MSL_C_LT(c) a.c < b.c
#define __MSL_C_LE(c) a.c <= b.c
#define __MSL_C_GT(c) a.c > b.c
#define __MSL_C_GE(c) a.c >= b.c
#define __MSL_C_LAND(c) a.c&& b.c
#define __MSL_C_LOR(c) a.c || b.c
#define __MSL_C_NEG(c) T(-a.c)
#define __MSL_C_NOT(c) T(~a.c)
#define __MSL_C_LNOT(c) !a.c

// Hidden friends: found for vectors only, and a scalar on either side converts to a vector.
#define __MSL_VEC_ARITHMETIC(N, op, E)                              \
  friend __MSL_MEMBER vec operator op(const vec& a, const vec& b) { \
    return vec(__MSL_EACH_##N(E));                                  \
  }                                                                 \
  __MSL_MEMBER vec& operator op##=(const vec & o) {                 \
    return *this = *this op o;                                      \
  }
#define __MSL_VEC_INTEGER(N, op, E)                                 \
  template <class U = T, __MSL_IF(::__msl::is_integer<U>)>          \
  friend __MSL_MEMBER vec operator op(const vec& a, const vec& b) { \
    return vec(__MSL_EACH_##N(E));                                  \
  }                                                                 \
  template <class U = T, __MSL_IF(::__msl::is_integer<U>)>          \
  __MSL_MEMBER vec& operator op##=(const vec & o) {                 \
    return *this = *this op o;                                      \
  }
#define __MSL_VEC_COMPARE(N, op, E)                                            \
  friend __MSL_MEMBER vec<bool, N> operator op(const vec & a, const vec & b) { \
    return vec<bool, N>(__MSL_EACH_##N(E));                                    \
  }

#define __MSL_VEC_OPERATORS(N)                               \
  __MSL_VEC_ARITHMETIC(N, +, __MSL_C_ADD)                    \
  __MSL_VEC_ARITHMETIC(N, -, __MSL_C_SUB)                    \
  __MSL_VEC_ARITHMETIC(N, *, __MSL_C_MUL)                    \
  __MSL_VEC_ARITHMETIC(N, /, __MSL_C_DIV)                    \
  __MSL_VEC_INTEGER(N, %, __MSL_C_REM)                       \
  __MSL_VEC_INTEGER(N, &, __MSL_C_AND)                       \
  __MSL_VEC_INTEGER(N, |, __MSL_C_OR)                        \
  __MSL_VEC_INTEGER(N, ^, __MSL_C_XOR)                       \
  __MSL_VEC_INTEGER(N, <<, __MSL_C_SHL)                      \
  __MSL_VEC_INTEGER(N, >>, __MSL_C_SHR)                      \
  __MSL_VEC_COMPARE(N, ==, __MSL_C_EQ)                       \
  __MSL_VEC_COMPARE(N, !=, __MSL_C_NE)                       \
  __MSL_VEC_COMPARE(N, <, __MSL_C_LT)                        \
  __MSL_VEC_COMPARE(N, <=, __MSL_C_LE)                       \
  __MSL_VEC_COMPARE(N, >, __MSL_C_GT)                        \
  __MSL_VEC_COMPARE(N, >=, __MSL_C_GE)                       \
  __MSL_VEC_COMPARE(N, &&, __MSL_C_LAND)                     \
  __MSL_VEC_COMPARE(N, ||, __MSL_C_LOR)                      \
  friend __MSL_MEMBER vec operator+(const vec& a) {          \
    return a;                                                \
  }                                                          \
  friend __MSL_MEMBER vec operator-(const vec& a) {          \
    return vec(__MSL_EACH_##N(__MSL_C_NEG));                 \
  }                                                          \
  friend __MSL_MEMBER vec<bool, N> operator!(const vec& a) { \
    return vec<bool, N>(__MSL_EACH_##N(__MSL_C_LNOT));       \
  }                                                          \
  template <class U = T, __MSL_IF(::__msl::is_integer<U>)>   \
  friend __MSL_MEMBER vec operator~(const vec& a) {          \
    return vec(__MSL_EACH_##N(__MSL_C_NOT));                 \
  }                                                          \
  __MSL_MEMBER vec& operator++() {                           \
    return *this = *this + vec(T(1));                        \
  }                                                          \
  __MSL_MEMBER vec& operator--() {                           \
    return *this = *this - vec(T(1));                        \
  }                                                          \
  __MSL_MEMBER vec operator++(int) {                         \
    vec before = *this;                                      \
    ++*this;                                                 \
    return before;                                           \
  }                                                          \
  __MSL_MEMBER vec operator--(int) {                         \
    vec before = *this;                                      \
    --*this;                                                 \
    return before;                                           \
  }

// The components of a vector, under all their names; what vec and packed_vec share. Indexing walks
// them in memory, except while the compiler evaluates a constant.
template <class T, int N>
struct __msl_components;
#define __MSL_COMPONENTS(N, pick)                                \
  __msl_components() = default;                                  \
  __MSL_MEMBER T& operator[](size_t i) {                         \
    return __builtin_is_constant_evaluated() ? (pick) : (&x)[i]; \
  }                                                              \
  __MSL_MEMBER const T& operator[](size_t i) const {             \
    return __builtin_is_constant_evaluated() ? (pick) : (&x)[i]; \
  }                                                              \
  __MSL_COLOURS_##N __MSL_SWIZZLES_##N
template <class T>
struct __msl_components<T, 2> {
  T x, y;
  __MSL_MEMBER __msl_components(T x, T y) : x(x), y(y) {}
  __MSL_COMPONENTS(2, i == 0 ? x : y)
};
template <class T>
struct __msl_components<T, 3> {
  T x, y, z;
  __MSL_MEMBER __msl_components(T x, T y, T z) : x(x), y(y), z(z) {}
  __MSL_COMPONENTS(3, i == 0 ? x : i == 1 ? y : z)
};
template <class T>
struct __msl_components<T, 4> {
  T x, y, z, w;
  __MSL_MEMBER __msl_components(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  __MSL_COMPONENTS(4, i == 0 ? x : i == 1 ? y : i == 2 ? z : w)
};

// What all sizes share: default and converting constructors, operators.
#define __MSL_VEC_SHARED(N)                                                                      \
  vec() = default;                                                                               \
  template <class U>                                                                             \
  explicit __MSL_MEMBER vec(const vec<U, N>& o) : vec(__MSL_EACH_##N(__MSL_C_CONVERT)) {}        \
  __MSL_MEMBER vec(const packed_vec<T, N>& o) : vec(__MSL_EACH_##N(__MSL_C_CONVERT)) {}          \
  template <class U>                                                                             \
  explicit __MSL_MEMBER vec(const packed_vec<U, N>& o) : vec(__MSL_EACH_##N(__MSL_C_CONVERT)) {} \
  __MSL_VEC_OPERATORS(N)

#define __MSL_SCALARS1(A) template <class A, __MSL_IF(::__msl::is_component<A>)>
#define __MSL_SCALARS2(A, B) \
  template <class A, class B, __MSL_IF(::__msl::is_component<A>&& ::__msl::is_component<B>)>
#define __MSL_TO(v) __msl_static_cast<T>(v)

// A brace list may leave components out, which are zero then.
template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> : __msl_components<T, 2> {
  using Base = __msl_components<T, 2>;
  __MSL_MEMBER vec(T x, T y) : Base(x, y) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(S s) : Base(__MSL_TO(s), __MSL_TO(s)) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(A x, B y) : Base(__MSL_TO(x), __MSL_TO(y)) {}
  __MSL_VEC_SHARED(2)
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> : __msl_components<T, 3> {
  using Base = __msl_components<T, 3>;
  __MSL_MEMBER vec(T x, T y, T z) : Base(x, y, z) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(S s) : Base(__MSL_TO(s), __MSL_TO(s), __MSL_TO(s)) {}
  template <
      class A, class B, class C,
      __MSL_IF(::__msl::is_component<A>&& ::__msl::is_component<B>&& ::__msl::is_component<C>)>
  __MSL_MEMBER vec(A x, B y, C z) : Base(__MSL_TO(x), __MSL_TO(y), __MSL_TO(z)) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(A x, B y) : Base(__MSL_TO(x), __MSL_TO(y), T(0)) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(const vec<T, 2>& a, S z) : Base(a.x, a.y, __MSL_TO(z)) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(S x, const vec<T, 2>& a) : Base(__MSL_TO(x), a.x, a.y) {}
  __MSL_VEC_SHARED(3)
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> : __msl_components<T, 4> {
  using Base = __msl_components<T, 4>;
  __MSL_MEMBER vec(T x, T y, T z, T w) : Base(x, y, z, w) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(S s) : Base(__MSL_TO(s), __MSL_TO(s), __MSL_TO(s), __MSL_TO(s)) {}
  template <class A, class B, class C, class D,
            __MSL_IF(::__msl::is_component<A>&& ::__msl::is_component<B>&& ::__msl::is_component<
                     C>&& ::__msl::is_component<D>)>
  __MSL_MEMBER vec(A x, B y, C z, D w) : Base(__MSL_TO(x), __MSL_TO(y), __MSL_TO(z), __MSL_TO(w)) {}
  template <
      class A, class B, class C,
      __MSL_IF(::__msl::is_component<A>&& ::__msl::is_component<B>&& ::__msl::is_component<C>)>
  __MSL_MEMBER vec(A x, B y, C z) : Base(__MSL_TO(x), __MSL_TO(y), __MSL_TO(z), T(0)) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(A x, B y) : Base(__MSL_TO(x), __MSL_TO(y), T(0), T(0)) {}
  __MSL_MEMBER vec(const vec<T, 2>& a, const vec<T, 2>& b) : Base(a.x, a.y, b.x, b.y) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(const vec<T, 2>& a, A z, B w) : Base(a.x, a.y, __MSL_TO(z), __MSL_TO(w)) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(A x, const vec<T, 2>& a, B w) : Base(__MSL_TO(x), a.x, a.y, __MSL_TO(w)) {}
  __MSL_SCALARS2(A, B)
  __MSL_MEMBER vec(A x, B y, const vec<T, 2>& a) : Base(__MSL_TO(x), __MSL_TO(y), a.x, a.y) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(const vec<T, 3>& a, S w) : Base(a.x, a.y, a.z, __MSL_TO(w)) {}
  __MSL_SCALARS1(S)
  __MSL_MEMBER vec(S x, const vec<T, 3>& a) : Base(__MSL_TO(x), a.x, a.y, a.z) {}
  __MSL_VEC_SHARED(4)
};

}  // namespace metal

namespace __msl {

// A vector from a function of the component number; the way all component-wise functions are made.
template <int N, class F>
__MSL_CONSTEXPR_FN auto generate(F f) {
  using R = metal::vec<decltype(f(0)), N>;
  if constexpr (N == 2)
    return R(f(0), f(1));
  else if constexpr (N == 3)
    return R(f(0), f(1), f(2));
  else
    return R(f(0), f(1), f(2), f(3));
}

template <class T>
struct vector_of {
  static constexpr int size = 1;
  static constexpr bool is_vector = false;
  using element = T;
};
template <class T, int N>
struct vector_of<metal::vec<T, N>> {
  static constexpr int size = N;
  static constexpr bool is_vector = true;
  using element = T;
};
template <class T, int N>
struct vector_of<metal::packed_vec<T, N>> : vector_of<metal::vec<T, N>> {};

}  // namespace __msl
