// metal_integer, integer operators and conversions; every result is defined.
#include "tests/conformance/msl/expression_case.h"

namespace {

using namespace msl_test;
using std::max;
using std::min;

int32_t wrap(int64_t x) {
  return static_cast<int32_t>(static_cast<uint32_t>(x));
}
int64_t saturated(int64_t x, int64_t low, int64_t high) {
  return max(low, min(high, x));
}
int64_t sat_int(int64_t x) {
  return saturated(x, INT32_MIN, INT32_MAX);
}
uint32_t reversed(uint32_t x) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
  return r;
}
uint32_t rotated(uint32_t x, uint32_t n) {
  n &= 31;
  return n == 0 ? x : x << n | x >> (32 - n);
}
int32_t sign_extended(uint32_t x, int bits) {
  return static_cast<int32_t>(x << (32 - bits)) >> (32 - bits);
}
int64_t float_to(double x, double low, double high) {
  return std::isnan(x) ? 0 : static_cast<int64_t>(std::trunc(std::fmax(low, std::fmin(high, x))));
}

#define INT(name, msl, ...)      \
  {name, msl,                    \
   [](const In& in) -> double {  \
     (void)in;                   \
     return double(__VA_ARGS__); \
   },                            \
   0, Type::kInt}
#define UINT(name, msl, ...)     \
  {name, msl,                    \
   [](const In& in) -> double {  \
     (void)in;                   \
     return double(__VA_ARGS__); \
   },                            \
   0, Type::kUint}
#define FROM_REAL(name, msl, type, ...)              \
  {name, msl,        [](const In& in) -> double { return double(__VA_ARGS__); }, \
   0,    Type::type, Domain::kReal}

ExpressionTable& functions() {
  static ExpressionTable table({
      INT("abs_int", "abs(i)", in.i == INT32_MIN ? INT32_MIN : std::abs(in.i)),
      INT("absdiff_int", "int(absdiff(i, j))", wrap(std::abs(int64_t(in.i) - in.j))),
      UINT("absdiff_uint", "absdiff(u, v)", in.u > in.v ? in.u - in.v : in.v - in.u),
      INT("addsat_int", "addsat(i, j)", sat_int(int64_t(in.i) + in.j)),
      UINT("addsat_uint", "addsat(u, v)", saturated(int64_t(in.u) + in.v, 0, UINT32_MAX)),
      INT("subsat_int", "subsat(i, j)", sat_int(int64_t(in.i) - in.j)),
      UINT("subsat_uint", "subsat(u, v)", saturated(int64_t(in.u) - int64_t(in.v), 0, UINT32_MAX)),
      INT("addsat_char", "int(addsat(char(i), char(j)))",
          saturated(int8_t(in.i) + int8_t(in.j), -128, 127)),
      INT("subsat_uchar", "int(subsat(uchar(u), uchar(v)))",
          saturated(int(uint8_t(in.u)) - int(uint8_t(in.v)), 0, 255)),
      INT("addsat_short", "int(addsat(short(i), short(j)))",
          saturated(int16_t(in.i) + int16_t(in.j), -32768, 32767)),
      INT("hadd_int", "hadd(i, j)", (int64_t(in.i) + in.j) >> 1),
      UINT("hadd_uint", "hadd(u, v)", (uint64_t(in.u) + in.v) >> 1),
      INT("rhadd_int", "rhadd(i, j)", (int64_t(in.i) + in.j + 1) >> 1),
      UINT("rhadd_uint", "rhadd(u, v)", (uint64_t(in.u) + in.v + 1) >> 1),
      INT("mulhi_int", "mulhi(i, j)", (int64_t(in.i) * in.j) >> 32),
      UINT("mulhi_uint", "mulhi(u, v)", (uint64_t(in.u) * in.v) >> 32),
      UINT("mulhi_ulong", "uint(mulhi(ulong(u) << 32, ulong(v) << 32) >> 32)",
           (uint64_t(in.u) * in.v) >> 32),
      INT("mulhi_short", "int(mulhi(short(i), short(j)))", (int16_t(in.i) * int16_t(in.j)) >> 16),
      INT("madhi_int", "madhi(i, j, k)", wrap(((int64_t(in.i) * in.j) >> 32) + in.k)),
      UINT("madhi_uint", "madhi(u, v, w)", uint32_t(((uint64_t(in.u) * in.v) >> 32) + in.w)),
      INT("madsat_int", "madsat(i, j, k)", sat_int(int64_t(in.i) * in.j + in.k)),
      UINT("madsat_uchar", "uint(madsat(uchar(u), uchar(v), uchar(w)))",
           min(255, uint8_t(in.u) * uint8_t(in.v) + uint8_t(in.w))),
      INT("mul24_int", "mul24(i >> 8, j >> 8)", wrap(int64_t(in.i >> 8) * (in.j >> 8))),
      UINT("mul24_uint", "mul24(u & 0xffffff, v & 0xffffff)",
           uint32_t(uint64_t(in.u & 0xffffff) * (in.v & 0xffffff))),
      INT("mad24_int", "mad24(i >> 8, j >> 8, k)", wrap(int64_t(in.i >> 8) * (in.j >> 8) + in.k)),
      UINT("clz_uint", "clz(u)", in.u == 0 ? 32 : __builtin_clz(in.u)),
      INT("clz_short", "int(clz(short(i)))",
          uint16_t(in.i) == 0 ? 16 : __builtin_clz(uint16_t(in.i)) - 16),
      INT("clz_long", "int(clz(long(u)))", in.u == 0 ? 64 : __builtin_clz(in.u) + 32),
      UINT("ctz_uint", "ctz(u)", in.u == 0 ? 32 : __builtin_ctz(in.u)),
      INT("ctz_uchar", "int(ctz(uchar(u)))", uint8_t(in.u) == 0 ? 8 : __builtin_ctz(uint8_t(in.u))),
      INT("popcount_int", "popcount(i)", __builtin_popcount(uint32_t(in.i))),
      INT("popcount_uchar", "int(popcount(uchar(u)))", __builtin_popcount(uint8_t(in.u))),
      UINT("reverse_bits_uint", "reverse_bits(u)", reversed(in.u)),
      UINT("reverse_bits_ushort", "uint(reverse_bits(ushort(u)))", reversed(uint16_t(in.u)) >> 16),
      UINT("rotate_uint", "rotate(u, v)", rotated(in.u, in.v)),
      INT("rotate_int", "rotate(i, j)", int32_t(rotated(uint32_t(in.i), uint32_t(in.j)))),
      UINT("extract_bits_uint", "extract_bits(u, 5, 9)", in.u >> 5 & 511),
      INT("extract_bits_int", "extract_bits(i, 5, 9)", sign_extended(uint32_t(in.i) >> 5, 9)),
      UINT("extract_no_bits", "extract_bits(u, 5, 0)", 0),
      UINT("extract_all_bits", "extract_bits(u, 0, 32)", in.u),
      UINT("insert_bits_uint", "insert_bits(u, v, 5, 9)",
           (in.u & ~(511u << 5)) | (in.v & 511) << 5),
      UINT("insert_all_bits", "insert_bits(u, v, 0, 32)", in.v),
      INT("min_int", "min(i, j)", min(in.i, in.j)),
      UINT("max_uint", "max(u, v)", max(in.u, in.v)),
      INT("min3_int", "min3(i, j, k)", min(in.i, min(in.j, in.k))),
      INT("max3_int", "max3(i, j, k)", max(in.i, max(in.j, in.k))),
      INT("median3_int", "median3(i, j, k)", max(min(in.i, in.j), min(max(in.i, in.j), in.k))),
      INT("clamp_int", "clamp(i, -5, 100)", max(-5, min(100, in.i))),
      INT("clamp_char", "int(clamp(char(i), char(-5), char(10)))",
          max(-5, min(10, int(int8_t(in.i))))),
      INT("max_mixed_widths", "max(short(i), 3)", max(int(int16_t(in.i)), 3)),
  });
  return table;
}
MSL_EXPRESSIONS(IntegerFunctions, functions);

ExpressionTable& operators() {
  static ExpressionTable table({
      INT("add_wraps", "i + j", wrap(int64_t(in.i) + in.j)),
      INT("subtract_wraps", "i - j", wrap(int64_t(in.i) - in.j)),
      INT("multiply_wraps", "i * j", wrap(int64_t(in.i) * in.j)),
      INT("negate_wraps", "-i", wrap(-int64_t(in.i))),
      INT("divide", "i / (j | 1)", wrap(int64_t(in.i) / int64_t(in.j | 1))),
      INT("remainder", "i % (j | 1)", int64_t(in.i) % int64_t(in.j | 1)),
      UINT("divide_unsigned", "u / (v | 1u)", in.u / (in.v | 1)),
      INT("divide_by_zero", "i / (j - j)", in.i),
      INT("divide_by_zeros", "(int4(i) / int4(j - j)).z", in.i),
      INT("divide_shorts_by_zeros", "(short4(short(i)) / short4(short(j - j))).y", int16_t(in.i)),
      INT("remainder_by_zero", "i % (j - j)", 0),
      INT("remainder_by_zeros", "(int4(i) % int4(j - j)).w", 0),
      INT("divide_least_by_minus_one", "(INT_MIN + (i - i)) / (j - j - 1)", INT32_MIN),
      INT("divide_leasts_by_minus_one", "(int2(INT_MIN + (i - i)) / int2(j - j - 1)).x", INT32_MIN),
      INT("remainders_of_least", "(int2(INT_MIN + (i - i)) % int2(j - j - 1)).y", 0),
      INT("divide_least_shorts", "(short2(short(-32768 + i - i)) / short2(short(j - j - 1))).x",
          -32768),
      INT("smallest_by_minus_one_goes_on", "((-2147483647 - 1 + (i - i)) / (j - j - 1)) * 0 + 7",
          7),
      INT("shift_left_masks", "i << j", int32_t(uint32_t(in.i) << (in.j & 31))),
      INT("shift_right_is_arithmetic", "i >> j", in.i >> (in.j & 31)),
      UINT("shift_right_unsigned", "u >> v", in.u >> (in.v & 31)),
      UINT("long_shift", "uint((ulong(u) << (v & 63)) >> 32)",
           uint32_t((uint64_t(in.u) << (in.v & 63)) >> 32)),
      UINT("and_or_xor_not", "(u & v) | (~u ^ w)", (in.u & in.v) | (~in.u ^ in.w)),
      INT("char_truncates", "int(char(i))", int8_t(in.i)),
      INT("uchar_truncates", "int(uchar(i))", uint8_t(in.i)),
      INT("short_truncates", "int(short(i))", int16_t(in.i)),
      UINT("ushort_from_negative", "uint(ushort(i))", uint16_t(in.i)),
      INT("long_keeps_high_bits", "int((long(i) * long(j)) >> 32)", (int64_t(in.i) * in.j) >> 32),
      UINT("ulong_division", "uint((ulong(u) << 32 | v) / 1000003ul)",
           uint32_t((uint64_t(in.u) << 32 | in.v) / 1000003)),
      INT("char_promotes", "char(100) + char(100)", 200),
      INT("uchar_arithmetic_wraps_on_store",
          "([&] { uchar x = uchar(u); x += uchar(v); return int(x); }())", uint8_t(in.u + in.v)),
      INT("compare_unsigned", "u < v", in.u < in.v),
      INT("compare_mixed", "i < j ? 1 : i == j ? 2 : 3",
          in.i < in.j    ? 1
          : in.i == in.j ? 2
                         : 3),
      INT("bool_is_zero_or_one", "int(bool(i))", in.i != 0),
      INT("increment_decrement", "([&] { int x = i; return x++ + --x; }())",
          wrap(int64_t(in.i) * 2)),
      FROM_REAL("int_from_float_saturates", "int(a)", kInt, float_to(in.a, INT32_MIN, INT32_MAX)),
      FROM_REAL("uint_from_float_saturates", "uint(a)", kUint, float_to(in.a, 0, UINT32_MAX)),
      FROM_REAL("bool_from_float", "int(bool(a))", kInt, in.a != 0 || std::isnan(in.a)),
      {"float_from_int", "float(i)", [](const In& in) { return double(in.i); }, 0},
      {"float_from_uint", "float(u)", [](const In& in) { return double(in.u); }, 0},
      {"float_from_ulong", "float(ulong(u) * ulong(v))",
       [](const In& in) { return double(float(uint64_t(in.u) * in.v)); }, 0},
      {"float_from_char", "float(char(i))", [](const In& in) { return double(int8_t(in.i)); }, 0},
      UINT("as_type_float_bits", "as_type<uint>(a)", as_bits(in.a)),
      {"as_type_back", "as_type<float>(as_type<uint>(a))",
       [](const In& in) { return double(in.a); }, 0},
      INT("as_type_signed", "as_type<int>(u)", int32_t(in.u)),
      INT("int_limits", "INT_MAX + numeric_limits<int>::min()", -1),
      UINT("uint_limits",
           "UINT_MAX - numeric_limits<uint>::max() + uint(numeric_limits<uchar>::max())", 255),
      INT("sizes",
          "int(sizeof(char) + 10 * sizeof(short) + 100 * sizeof(int) + 1000 * sizeof(long) + 10000 "
          "* sizeof(half))",
          28421),
  });
  return table;
}
MSL_EXPRESSIONS(IntegerOperators, operators);

}  // namespace
