// metal_integer. Every function is defined for every argument: no overflow, no undefined shift.
#pragma once
#pragma clang system_header

namespace __msl {

template <class T>
inline constexpr int width = sizeof(T) * 8;
template <class T>
using unsigned_t = __make_unsigned(T);
template <class T>
inline constexpr bool is_signed_integer = T(-1) < T(0);
// A type twice as wide holds every intermediate result.
template <class T>
struct wider {
  using type = typename metal::conditional<is_signed_integer<T>, long, unsigned long>::type;
};
template <>
struct wider<long> {
  using type = __int128;
};
template <>
struct wider<unsigned long> {
  using type = unsigned __int128;
};
template <class T>
using wider_t = typename wider<T>::type;
template <class T>
using limits = metal::numeric_limits<T>;

template <class T>
__MSL_CONSTEXPR_FN T abs(T x) {
  if constexpr (is_signed_integer<T>)
    return x < 0 ? T(unsigned_t<T>(0) - unsigned_t<T>(x)) : x;
  else
    return x;
}
template <class T>
__MSL_CONSTEXPR_FN unsigned_t<T> absdiff(T x, T y) {
  return unsigned_t<T>(x > y ? unsigned_t<T>(x) - unsigned_t<T>(y)
                             : unsigned_t<T>(y) - unsigned_t<T>(x));
}
template <class T>
__MSL_CONSTEXPR_FN T clamped(wider_t<T> v) {
  return v > wider_t<T>(limits<T>::max())   ? limits<T>::max()
         : v < wider_t<T>(limits<T>::min()) ? limits<T>::min()
                                            : T(v);
}
template <class T>
__MSL_CONSTEXPR_FN T addsat(T x, T y) {
  T r{};
  if (!__builtin_add_overflow(x, y, &r)) return r;
  return is_signed_integer<T> && x < T(0) ? limits<T>::min() : limits<T>::max();
}
template <class T>
__MSL_CONSTEXPR_FN T subsat(T x, T y) {
  T r{};
  if (!__builtin_sub_overflow(x, y, &r)) return r;
  return x < y || !is_signed_integer<T> ? limits<T>::min() : limits<T>::max();
}
template <class T>
__MSL_CONSTEXPR_FN T hadd(T x, T y) {
  return T((x & y) + ((x ^ y) >> 1));
}
template <class T>
__MSL_CONSTEXPR_FN T rhadd(T x, T y) {
  return T((x | y) - ((x ^ y) >> 1));
}
template <class T>
__MSL_CONSTEXPR_FN T mulhi(T x, T y) {
  return T((wider_t<T>(x) * wider_t<T>(y)) >> width<T>);
}
template <class T>
__MSL_CONSTEXPR_FN T madhi(T x, T y, T z) {
  return T(unsigned_t<T>(mulhi<T>(x, y)) + unsigned_t<T>(z));
}
template <class T>
__MSL_CONSTEXPR_FN T madsat(T x, T y, T z) {
  return clamped<T>(wider_t<T>(x) * wider_t<T>(y) + wider_t<T>(z));
}
// 24-bit operands, sign- or zero-extended from bit 23.
template <class T>
__MSL_CONSTEXPR_FN T mul24(T x, T y) {
  return T(unsigned((x << 8) >> 8) * unsigned((y << 8) >> 8));
}
template <class T>
__MSL_CONSTEXPR_FN T mad24(T x, T y, T z) {
  return T(unsigned(mul24<T>(x, y)) + unsigned(z));
}
template <class T>
__MSL_CONSTEXPR_FN T rotate(T x, T n) {
  unsigned left = unsigned(n) & (width<T> - 1), right = unsigned(0 - left) & (width<T> - 1);
  return T(unsigned_t<T>(x) << left | unsigned_t<T>(x) >> right);
}
template <class T>
__MSL_CONSTEXPR_FN T clz(T x) {
  return T(x == 0 ? width<T> : __builtin_clzl((unsigned long)unsigned_t<T>(x)) - (64 - width<T>));
}
template <class T>
__MSL_CONSTEXPR_FN T ctz(T x) {
  return T(x == 0 ? width<T> : __builtin_ctzl((unsigned long)unsigned_t<T>(x)));
}
template <class T>
__MSL_CONSTEXPR_FN T popcount(T x) {
  return T(__builtin_popcountl((unsigned long)unsigned_t<T>(x)));
}
template <class T>
__MSL_CONSTEXPR_FN T reverse_bits(T x) {
  if constexpr (sizeof(T) == 1)
    return T(__builtin_bitreverse8(unsigned_t<T>(x)));
  else if constexpr (sizeof(T) == 2)
    return T(__builtin_bitreverse16(unsigned_t<T>(x)));
  else if constexpr (sizeof(T) == 4)
    return T(__builtin_bitreverse32(unsigned_t<T>(x)));
  else
    return T(__builtin_bitreverse64(unsigned_t<T>(x)));
}
// A mask of the low n bits, n up to the width.
template <class T>
__MSL_CONSTEXPR_FN unsigned_t<T> low_mask(unsigned n) {
  return n >= unsigned(width<T>) ? unsigned_t<T>(~0ul) : unsigned_t<T>((1ul << n) - 1);
}
template <class T>
__MSL_CONSTEXPR_FN T extract_bits(T x, unsigned offset, unsigned bits) {
  if (bits == 0 || offset >= unsigned(width<T>)) return T(0);
  if constexpr (is_signed_integer<T>) {
    unsigned left = offset + bits >= unsigned(width<T>) ? 0 : width<T> - offset - bits;
    unsigned size = bits >= unsigned(width<T>) ? width<T> : bits;
    return T(T(unsigned_t<T>(x) << left) >> (width<T> - size));
  } else {
    return T((x >> offset) & low_mask<T>(bits));
  }
}
template <class T>
__MSL_CONSTEXPR_FN T insert_bits(T base, T insert, unsigned offset, unsigned bits) {
  if (offset >= unsigned(width<T>)) return base;
  unsigned_t<T> mask = unsigned_t<T>(low_mask<T>(bits) << offset);
  return T((unsigned_t<T>(base) & ~mask) | (unsigned_t<T>(unsigned_t<T>(insert) << offset) & mask));
}

}  // namespace __msl

namespace metal {

// abs of integers; of floats it is fabs.
__MSL_INTEGER1(abs, ::__msl::abs)
__MSL_FN float abs(float x) {
  return ::__msl::fabs(x);
}
__MSL_FN half abs(half x) {
  return half(::__msl::fabs(float(x)));
}
template <class T, __MSL_IF(::__msl::is_float<T> && !::__msl::is_listed_float<T>), class = void>
__MSL_FN auto abs(T x) {
  return ::__msl::float_for_t<T>(::__msl::fabs(float(x)));
}
template <class V, __MSL_IF(::__msl::is_float_vector<V>), class = void>
__MSL_FN auto abs(V v) {
  return fabs(v);
}
namespace fast {
using metal::abs;
}
namespace precise {
using metal::abs;
}

__MSL_INTEGER1(clz, ::__msl::clz)
__MSL_INTEGER1(ctz, ::__msl::ctz)
__MSL_INTEGER1(popcount, ::__msl::popcount)
__MSL_INTEGER1(reverse_bits, ::__msl::reverse_bits)
__MSL_INTEGER2(absdiff, ::__msl::absdiff)
__MSL_INTEGER2(addsat, ::__msl::addsat)
__MSL_INTEGER2(subsat, ::__msl::subsat)
__MSL_INTEGER2(hadd, ::__msl::hadd)
__MSL_INTEGER2(rhadd, ::__msl::rhadd)
__MSL_INTEGER2(mulhi, ::__msl::mulhi)
__MSL_INTEGER2(mul24, ::__msl::mul24)
__MSL_INTEGER2(rotate, ::__msl::rotate)
__MSL_INTEGER3(madhi, ::__msl::madhi)
__MSL_INTEGER3(madsat, ::__msl::madsat)
__MSL_INTEGER3(mad24, ::__msl::mad24)

template <class T, __MSL_IF(::__msl::is_integer<T>)>
__MSL_CONSTEXPR_FN T extract_bits(T x, uint offset, uint bits) {
  return ::__msl::extract_bits<T>(x, offset, bits);
}
template <class T, int N>
__MSL_CONSTEXPR_FN vec<T, N> extract_bits(vec<T, N> x, uint offset, uint bits) {
  return ::__msl::generate<N>([&](int i) { return ::__msl::extract_bits<T>(x[i], offset, bits); });
}
template <class T, __MSL_IF(::__msl::is_integer<T>)>
__MSL_CONSTEXPR_FN T insert_bits(T base, T insert, uint offset, uint bits) {
  return ::__msl::insert_bits<T>(base, insert, offset, bits);
}
template <class T, int N>
__MSL_CONSTEXPR_FN vec<T, N> insert_bits(vec<T, N> base, vec<T, N> insert, uint offset, uint bits) {
  return ::__msl::generate<N>(
      [&](int i) { return ::__msl::insert_bits<T>(base[i], insert[i], offset, bits); });
}

}  // namespace metal
