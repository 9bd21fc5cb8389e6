// Swizzles as properties: `v.xyz` reads through a getter and, when no component repeats, writes
// through a setter, of a vector that lasts. The xyzw and rgba spellings share the accessors.
// Components are numbered 0..3.
#pragma once
#pragma clang system_header

#define __MSL_XYZW_0 x
#define __MSL_XYZW_1 y
#define __MSL_XYZW_2 z
#define __MSL_XYZW_3 w
#define __MSL_RGBA_0 r
#define __MSL_RGBA_1 g
#define __MSL_RGBA_2 b
#define __MSL_RGBA_3 a
#define __MSL_PASTE2_(a, b) a##b
#define __MSL_PASTE2(a, b) __MSL_PASTE2_(a, b)
#define __MSL_PASTE3_(a, b, c) a##b##c
#define __MSL_PASTE3(a, b, c) __MSL_PASTE3_(a, b, c)
#define __MSL_PASTE4_(a, b, c, d) a##b##c##d
#define __MSL_PASTE4(a, b, c, d) __MSL_PASTE4_(a, b, c, d)

// __MSL_SAME(i, j) is 1 for equal digits, else 0.
#define __MSL_SAME_00 ~, 1
#define __MSL_SAME_11 ~, 1
#define __MSL_SAME_22 ~, 1
#define __MSL_SAME_33 ~, 1
#define __MSL_SECOND(first, second, ...) second
#define __MSL_PROBE(...) __MSL_SECOND(__VA_ARGS__, 0, 0)
#define __MSL_SAME(i, j) __MSL_PROBE(__MSL_SAME_##i##j)
// __MSL_REPEATn(i, j, ...) pastes the answers for all pairs; all zeros means distinct.
#define __MSL_DISTINCT_0 ~, 1
#define __MSL_DISTINCT_000 ~, 1
#define __MSL_DISTINCT_000000 ~, 1
#define __MSL_PASTE6_(a, b, c, d, e, f) a##b##c##d##e##f
#define __MSL_PASTE6(a, b, c, d, e, f) __MSL_PASTE6_(a, b, c, d, e, f)
#define __MSL_IS_DISTINCT(answers) __MSL_PROBE(__MSL_PASTE2(__MSL_DISTINCT_, answers))
#define __MSL_DISTINCT2(i, j) __MSL_IS_DISTINCT(__MSL_SAME(i, j))
#define __MSL_DISTINCT3(i, j, k) \
  __MSL_IS_DISTINCT(__MSL_PASTE3(__MSL_SAME(i, j), __MSL_SAME(i, k), __MSL_SAME(j, k)))
#define __MSL_DISTINCT4(i, j, k, l)                                                    \
  __MSL_IS_DISTINCT(__MSL_PASTE6(__MSL_SAME(i, j), __MSL_SAME(i, k), __MSL_SAME(i, l), \
                                 __MSL_SAME(j, k), __MSL_SAME(j, l), __MSL_SAME(k, l)))

// The declarations of one swizzle: getter, setter if writable (_1), two properties.
#define __MSL_SW2_0(i, j)                                                                          \
  __declspec(property(get = __get_##i##j)) vec<T, 2> __MSL_PASTE2(__MSL_XYZW_##i, __MSL_XYZW_##j); \
  __declspec(property(get = __get_##i##j)) vec<T, 2> __MSL_PASTE2(__MSL_RGBA_##i, __MSL_RGBA_##j);
#define __MSL_SW2_1(i, j)                                                              \
  __MSL_MEMBER vec<T, 2> __put_##i##j(const vec<T, 2>& v)& {                           \
    T c0 = v.x, c1 = v.y;                                                              \
    __MSL_XYZW_##i = c0;                                                               \
    __MSL_XYZW_##j = c1;                                                               \
    return vec<T, 2>(c0, c1);                                                          \
  }                                                                                    \
  __declspec(property(get = __get_##i##j, put = __put_##i##j)) vec<T, 2> __MSL_PASTE2( \
      __MSL_XYZW_##i, __MSL_XYZW_##j);                                                 \
  __declspec(property(get = __get_##i##j, put = __put_##i##j)) vec<T, 2> __MSL_PASTE2( \
      __MSL_RGBA_##i, __MSL_RGBA_##j);
#define __MSL_SW2(i, j)                               \
  __MSL_MEMBER vec<T, 2> __get_##i##j() const {       \
    return vec<T, 2>(__MSL_XYZW_##i, __MSL_XYZW_##j); \
  }                                                   \
  __MSL_PASTE2(__MSL_SW2_, __MSL_DISTINCT2(i, j))(i, j)

#define __MSL_SW3_NAME(S, i, j, k) __MSL_PASTE3(S##i, S##j, S##k)
#define __MSL_SW3_0(i, j, k)                                                                  \
  __declspec(property(get = __get_##i##j##k)) vec<T, 3> __MSL_SW3_NAME(__MSL_XYZW_, i, j, k); \
  __declspec(property(get = __get_##i##j##k)) vec<T, 3> __MSL_SW3_NAME(__MSL_RGBA_, i, j, k);
#define __MSL_SW3_1(i, j, k)                                                                   \
  __MSL_MEMBER vec<T, 3> __put_##i##j##k(const vec<T, 3>& v)& {                                \
    T c0 = v.x, c1 = v.y, c2 = v.z;                                                            \
    __MSL_XYZW_##i = c0;                                                                       \
    __MSL_XYZW_##j = c1;                                                                       \
    __MSL_XYZW_##k = c2;                                                                       \
    return vec<T, 3>(c0, c1, c2);                                                              \
  }                                                                                            \
  __declspec(property(get = __get_##i##j##k, put = __put_##i##j##k)) vec<T, 3> __MSL_SW3_NAME( \
      __MSL_XYZW_, i, j, k);                                                                   \
  __declspec(property(get = __get_##i##j##k, put = __put_##i##j##k)) vec<T, 3> __MSL_SW3_NAME( \
      __MSL_RGBA_, i, j, k);
#define __MSL_SW3(i, j, k)                                            \
  __MSL_MEMBER vec<T, 3> __get_##i##j##k() const {                    \
    return vec<T, 3>(__MSL_XYZW_##i, __MSL_XYZW_##j, __MSL_XYZW_##k); \
  }                                                                   \
  __MSL_PASTE2(__MSL_SW3_, __MSL_DISTINCT3(i, j, k))(i, j, k)

#define __MSL_SW4_NAME(S, i, j, k, l) __MSL_PASTE4(S##i, S##j, S##k, S##l)
#define __MSL_SW4_0(i, j, k, l)                                                                 \
  __declspec(property(get = __get_##i##j##k##l)) vec<T, 4> __MSL_SW4_NAME(__MSL_XYZW_, i, j, k, \
                                                                          l);                   \
  __declspec(property(get = __get_##i##j##k##l)) vec<T, 4> __MSL_SW4_NAME(__MSL_RGBA_, i, j, k, l);
#define __MSL_SW4_1(i, j, k, l)                                                      \
  __MSL_MEMBER vec<T, 4> __put_##i##j##k##l(const vec<T, 4>& v)& {                   \
    T c0 = v.x, c1 = v.y, c2 = v.z, c3 = v.w;                                        \
    __MSL_XYZW_##i = c0;                                                             \
    __MSL_XYZW_##j = c1;                                                             \
    __MSL_XYZW_##k = c2;                                                             \
    __MSL_XYZW_##l = c3;                                                             \
    return vec<T, 4>(c0, c1, c2, c3);                                                \
  }                                                                                  \
  __declspec(property(get = __get_##i##j##k##l, put = __put_##i##j##k##l)) vec<T, 4> \
      __MSL_SW4_NAME(__MSL_XYZW_, i, j, k, l);                                       \
  __declspec(property(get = __get_##i##j##k##l, put = __put_##i##j##k##l)) vec<T, 4> \
      __MSL_SW4_NAME(__MSL_RGBA_, i, j, k, l);
#define __MSL_SW4(i, j, k, l)                                                         \
  __MSL_MEMBER vec<T, 4> __get_##i##j##k##l() const {                                 \
    return vec<T, 4>(__MSL_XYZW_##i, __MSL_XYZW_##j, __MSL_XYZW_##k, __MSL_XYZW_##l); \
  }                                                                                   \
  __MSL_PASTE2(__MSL_SW4_, __MSL_DISTINCT4(i, j, k, l))(i, j, k, l)

// All swizzles of a vector of two, three or four components: loops over the digits, outermost last.
#define __MSL_SWK_2(i, j, k) __MSL_SW3(i, j, k) __MSL_SW4(i, j, k, 0) __MSL_SW4(i, j, k, 1)
#define __MSL_SWJ_2(i, j) __MSL_SW2(i, j) __MSL_SWK_2(i, j, 0) __MSL_SWK_2(i, j, 1)
#define __MSL_SWI_2(i) __MSL_SWJ_2(i, 0) __MSL_SWJ_2(i, 1)
#define __MSL_SWIZZLES_2 __MSL_SWI_2(0) __MSL_SWI_2(1)

#define __MSL_SWK_3(i, j, k) \
  __MSL_SW3(i, j, k) __MSL_SW4(i, j, k, 0) __MSL_SW4(i, j, k, 1) __MSL_SW4(i, j, k, 2)
#define __MSL_SWJ_3(i, j) \
  __MSL_SW2(i, j) __MSL_SWK_3(i, j, 0) __MSL_SWK_3(i, j, 1) __MSL_SWK_3(i, j, 2)
#define __MSL_SWI_3(i) __MSL_SWJ_3(i, 0) __MSL_SWJ_3(i, 1) __MSL_SWJ_3(i, 2)
#define __MSL_SWIZZLES_3 __MSL_SWI_3(0) __MSL_SWI_3(1) __MSL_SWI_3(2)

#define __MSL_SWK_4(i, j, k) \
  __MSL_SW3(i, j, k)         \
  __MSL_SW4(i, j, k, 0) __MSL_SW4(i, j, k, 1) __MSL_SW4(i, j, k, 2) __MSL_SW4(i, j, k, 3)
#define __MSL_SWJ_4(i, j) \
  __MSL_SW2(i, j)         \
  __MSL_SWK_4(i, j, 0) __MSL_SWK_4(i, j, 1) __MSL_SWK_4(i, j, 2) __MSL_SWK_4(i, j, 3)
#define __MSL_SWI_4(i) __MSL_SWJ_4(i, 0) __MSL_SWJ_4(i, 1) __MSL_SWJ_4(i, 2) __MSL_SWJ_4(i, 3)
#define __MSL_SWIZZLES_4 __MSL_SWI_4(0) __MSL_SWI_4(1) __MSL_SWI_4(2) __MSL_SWI_4(3)

// One component under its colour name.
#define __MSL_COLOUR(i)              \
  __MSL_MEMBER T __get_##i() const { \
    return __MSL_XYZW_##i;           \
  }                                  \
  __MSL_MEMBER T __put_##i(T v)& {   \
    return __MSL_XYZW_##i = v;       \
  }                                  \
  __declspec(property(get = __get_##i, put = __put_##i)) T __MSL_RGBA_##i;
#define __MSL_COLOURS_2 __MSL_COLOUR(0) __MSL_COLOUR(1)
#define __MSL_COLOURS_3 __MSL_COLOURS_2 __MSL_COLOUR(2)
#define __MSL_COLOURS_4 __MSL_COLOURS_3 __MSL_COLOUR(3)
