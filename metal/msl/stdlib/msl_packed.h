// packed_vec<T, 2..4>: storage without padding. It converts to and from vec; arithmetic happens
// there.
#pragma once
#pragma clang system_header

namespace metal {

#define __MSL_PACKED(N)                                                                    \
  template <class T>                                                                       \
  struct packed_vec<T, N> : __msl_components<T, N> {                                       \
    using Base = __msl_components<T, N>;                                                   \
    using Base::Base;                                                                      \
    packed_vec() = default;                                                                \
    __MSL_MEMBER packed_vec(const vec<T, N>& o) : Base(__MSL_EACH_##N(__MSL_C_CONVERT)) {} \
    template <class U>                                                                     \
    explicit __MSL_MEMBER packed_vec(const vec<U, N>& o)                                   \
        : Base(__MSL_EACH_##N(__MSL_C_CONVERT)) {}                                         \
    template <class U>                                                                     \
    explicit __MSL_MEMBER packed_vec(const packed_vec<U, N>& o)                            \
        : Base(__MSL_EACH_##N(__MSL_C_CONVERT)) {}                                         \
    __MSL_SCALARS1(S)                                                                      \
    __MSL_MEMBER packed_vec(S s) : packed_vec(vec<T, N>(s)) {}                             \
    template <class A, class B, class... C>                                                \
    __MSL_MEMBER packed_vec(const A& a, const B& b, const C&... c)                         \
        : packed_vec(vec<T, N>(a, b, c...)) {}                                             \
  };
__MSL_PACKED(2)
__MSL_PACKED(3)
__MSL_PACKED(4)

// Packed with packed and packed with scalar; packed with vec is found through vec's own operators.
#define __MSL_PACKED_BINARY(op)                                                               \
  template <class T, int N>                                                                   \
  __MSL_CONSTEXPR_FN auto operator op(const packed_vec<T, N>& a, const packed_vec<T, N>& b) { \
    return vec<T, N>(a) op vec<T, N>(b);                                                      \
  }                                                                                           \
  template <class T, int N, class S, __MSL_IF(::__msl::is_component<S>)>                      \
  __MSL_CONSTEXPR_FN auto operator op(const packed_vec<T, N>& a, S b) {                       \
    return vec<T, N>(a) op vec<T, N>(b);                                                      \
  }                                                                                           \
  template <class T, int N, class S, __MSL_IF(::__msl::is_component<S>)>                      \
  __MSL_CONSTEXPR_FN auto operator op(S a, const packed_vec<T, N>& b) {                       \
    return vec<T, N>(a) op vec<T, N>(b);                                                      \
  }
#define __MSL_PACKED_ASSIGN(op)                                                           \
  template <class T, int N, class B>                                                      \
  __MSL_CONSTEXPR_FN packed_vec<T, N>& operator op##=(packed_vec<T, N>& a, const B & b) { \
    return a = packed_vec<T, N>(vec<T, N>(a) op vec<T, N>(b));                            \
  }
#define __MSL_PACKED_UNARY(op)                                     \
  template <class T, int N>                                        \
  __MSL_CONSTEXPR_FN auto operator op(const packed_vec<T, N>& a) { \
    return op vec<T, N>(a);                                        \
  }
#define __MSL_PACKED_OPERATOR(op) __MSL_PACKED_BINARY(op) __MSL_PACKED_ASSIGN(op)

__MSL_PACKED_OPERATOR(+)
__MSL_PACKED_OPERATOR(-)
__MSL_PACKED_OPERATOR(*)
__MSL_PACKED_OPERATOR(/)
__MSL_PACKED_OPERATOR(%)
__MSL_PACKED_OPERATOR(&)
__MSL_PACKED_OPERATOR(|)
__MSL_PACKED_OPERATOR(^)
__MSL_PACKED_OPERATOR(<<)
__MSL_PACKED_OPERATOR(>>)
__MSL_PACKED_BINARY(==)
__MSL_PACKED_BINARY(!=)
__MSL_PACKED_BINARY(<)
__MSL_PACKED_BINARY(<=)
__MSL_PACKED_BINARY(>)
__MSL_PACKED_BINARY(>=)
__MSL_PACKED_BINARY(&&)
__MSL_PACKED_BINARY(||)
__MSL_PACKED_UNARY(+)
__MSL_PACKED_UNARY(-)
__MSL_PACKED_UNARY(~)
__MSL_PACKED_UNARY(!)

}  // namespace metal
