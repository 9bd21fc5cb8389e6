// half and bfloat: arithmetic, literals, conversions and math functions in their own type. bfloat
// cases stay away from denormals: conversion instructions may flush them.
#include "tests/conformance/msl/expression_case.h"

namespace {

using namespace msl_test;

double h(double x) {
  return rounded(x, Type::kHalf);
}
double b(double x) {
  return rounded(x, Type::kBfloat);
}

#define HALF1(name, bound, domain)                         \
  {"half_" #name, #name "(half(a))", [](const In& in) { return std::name(h(in.a)); }, \
   bound,         Type::kHalf,       Domain::domain}
#define BFLOAT1(name, bound, domain)                           \
  {"bfloat_" #name, #name "(bfloat(a))", [](const In& in) { return std::name(b(in.a)); }, \
   bound,           Type::kBfloat,       Domain::domain}

ExpressionTable& table() {
  static ExpressionTable table({
      // One unit in the last place of the type: the float result is rounded once more.
      HALF1(acos, 1, kUnit),
      HALF1(asin, 1, kUnit),
      HALF1(atan, 1, kReal),
      HALF1(ceil, 0, kReal),
      HALF1(cos, 1, kModerate),
      HALF1(cosh, 1, kUnit),
      HALF1(exp, 1, kModerate),
      HALF1(exp2, 1, kModerate),
      HALF1(fabs, 0, kReal),
      HALF1(floor, 0, kReal),
      HALF1(log, 1, kPositive),
      HALF1(log2, 1, kPositive),
      HALF1(rint, 0, kIntegers),
      HALF1(round, 0, kIntegers),
      HALF1(sin, 1, kModerate),
      HALF1(sinh, 1, kUnit),
      HALF1(sqrt, 1, kPositive),
      HALF1(tan, 1, kUnit),
      HALF1(tanh, 1, kReal),
      HALF1(trunc, 0, kReal),
      BFLOAT1(cos, 1, kModerate),
      BFLOAT1(exp, 1, kModerate),
      BFLOAT1(floor, 0, kModerate),
      BFLOAT1(log, 1, kPositive),
      BFLOAT1(sin, 1, kModerate),
      BFLOAT1(sqrt, 1, kPositive),
      BFLOAT1(tanh, 1, kReal),
      BFLOAT1(fabs, 0, kModerate),
      {"half_from_float", "half(a)", [](const In& in) { return double(in.a); }, 0, Type::kHalf,
       Domain::kReal},
      {"bfloat_from_float", "bfloat(a)", [](const In& in) { return double(in.a); }, 0,
       Type::kBfloat, Domain::kPositive},
      {"half_from_int", "half(i)", [](const In& in) { return double(in.i); }, 0, Type::kHalf},
      {"half_add", "half(a) + half(b)", [](const In& in) { return h(in.a) + h(in.b); }, 0,
       Type::kHalf},
      {"half_subtract", "half(a) - half(b)", [](const In& in) { return h(in.a) - h(in.b); }, 0,
       Type::kHalf},
      {"half_multiply", "half(a) * half(b)", [](const In& in) { return h(in.a) * h(in.b); }, 0,
       Type::kHalf},
      {"half_divide", "half(a) / half(b)", [](const In& in) { return h(in.a) / h(in.b); }, 0.51,
       Type::kHalf},
      {"half_rounds_each_step", "half(a) * half(b) + half(c) * half(b)",
       [](const In& in) { return h(h(in.a) * h(in.b)) + h(h(in.c) * h(in.b)); }, 8, Type::kHalf},
      {"half_overflows_to_infinity", "half(a) * half(60000.0f)",
       [](const In& in) { return h(in.a) * h(60000.0); }, 0, Type::kHalf},
      {"half_literal", "0.1h", [](const In&) { return 0.1; }, 0, Type::kHalf},
      {"half_literal_in_float", "float(0.1h)", [](const In&) { return h(0.1); }},
      {"half_with_float_is_float", "half(a) + b",
       [](const In& in) { return double(float(h(in.a)) + in.b); }},
      {"half_with_int_is_half", "half(a) + 1", [](const In& in) { return h(in.a) + 1; }, 0,
       Type::kHalf},
      {"half_compound", "([&] { half x = half(a); x += half(b); x *= 2.0h; return x; }())",
       [](const In& in) { return h(h(in.a) + h(in.b)) * 2; }, 0, Type::kHalf},
      {"half_negate", "-half(a)", [](const In& in) { return -h(in.a); }, 0, Type::kHalf,
       Domain::kReal},
      {"half_compare", "half(a) < half(b)", [](const In& in) { return double(h(in.a) < h(in.b)); },
       0, Type::kInt, Domain::kReal},
      {"half_max", "max(half(a), half(b))",
       [](const In& in) { return std::fmax(h(in.a), h(in.b)); }, 0, Type::kHalf, Domain::kReal},
      {"half_min_with_literal", "min(half(a), 1.0h)",
       [](const In& in) { return std::fmin(h(in.a), 1.0); }, 0, Type::kHalf, Domain::kReal},
      {"half_clamp", "clamp(half(a), -1.0h, 1.0h)",
       [](const In& in) { return std::fmin(std::fmax(h(in.a), -1.0), 1.0); }, 0, Type::kHalf,
       Domain::kReal},
      {"half_fma", "fma(half(a), half(b), half(c))",
       [](const In& in) { return h(in.a) * h(in.b) + h(in.c); }, 0.51, Type::kHalf},
      {"half_pow", "pow(abs(half(a)), 1.5h)",
       [](const In& in) { return std::pow(std::fabs(h(in.a)), 1.5); }, 1, Type::kHalf},
      {"half_fract", "fract(half(a))",
       [](const In& in) { return std::fmin(h(in.a) - std::floor(h(in.a)), 0x1.ffcp-1); }, 0,
       Type::kHalf},
      {"half_nextafter", "nextafter(half(1.0h), half(2.0h))", [](const In&) { return 1 + 0x1p-10; },
       0, Type::kHalf},
      {"half_sign", "sign(half(a))",
       [](const In& in) { return double((h(in.a) > 0) - (h(in.a) < 0)); }, 0, Type::kHalf},
      {"half_isnan", "isnan(half(a))", [](const In& in) { return double(std::isnan(in.a)); }, 0,
       Type::kInt, Domain::kReal},
      {"half_isinf_after_rounding", "isinf(half(a))",
       [](const In& in) { return double(std::isinf(h(in.a))); }, 0, Type::kInt, Domain::kReal},
      {"half_bits", "as_type<ushort>(half(1.5h))", [](const In&) { return 0x3e00; }, 0,
       Type::kUint},
      {"half_from_bits", "as_type<half>(ushort(0xc000))", [](const In&) { return -2.0; }, 0,
       Type::kHalf},
      {"half_max_macro", "HALF_MAX", [](const In&) { return 65504.0; }, 0, Type::kHalf},
      {"half_limits", "numeric_limits<half>::epsilon()", [](const In&) { return 0x1p-10; }, 0,
       Type::kHalf},
      {"bfloat_add", "bfloat(a) + bfloat(b)", [](const In& in) { return b(in.a) + b(in.b); }, 0,
       Type::kBfloat},
      {"bfloat_multiply", "bfloat(a) * bfloat(b)", [](const In& in) { return b(in.a) * b(in.b); },
       0, Type::kBfloat},
      {"bfloat_divide", "bfloat(a) / bfloat(b)", [](const In& in) { return b(in.a) / b(in.b); },
       0.51, Type::kBfloat},
      {"bfloat_with_float_is_float", "bfloat(a) + b",
       [](const In& in) { return double(float(b(in.a)) + in.b); }},
      {"bfloat_max", "max(bfloat(a), bfloat(b))",
       [](const In& in) { return std::fmax(b(in.a), b(in.b)); }, 0, Type::kBfloat,
       Domain::kModerate},
      {"bfloat_select", "select(bfloat(a), bfloat(b), a < b)",
       [](const In& in) { return b(in.a < in.b ? in.b : in.a); }, 0, Type::kBfloat},
      {"bfloat_ternary", "a < b ? bfloat(b) : bfloat(0)",
       [](const In& in) { return in.a < in.b ? b(in.b) : 0; }, 0, Type::kBfloat},
      {"bfloat_bits", "as_type<ushort>(bfloat(1.5f))", [](const In&) { return 0x3fc0; }, 0,
       Type::kUint},
      {"bfloat_from_bits", "as_type<bfloat>(ushort(0xc000))", [](const In&) { return -2.0; }, 0,
       Type::kBfloat},
      {"bfloat_rounds_to_even", "bfloat(as_type<float>(0x3f808000u))",
       [](const In&) { return 1.0; }, 0, Type::kBfloat},
      {"half_from_bfloat", "static_cast<half>(bfloat(a))", [](const In& in) { return b(in.a); }, 0,
       Type::kHalf},
      {"bfloat_from_half", "static_cast<bfloat>(half(a))", [](const In& in) { return h(in.a); }, 0,
       Type::kBfloat},
      {"int_from_half", "int(half(a))", [](const In& in) { return std::trunc(h(in.a)); }, 0,
       Type::kInt},
  });
  return table;
}
MSL_EXPRESSIONS(HalfAndBfloat, table);

ExpressionTable& literals() {
  static ExpressionTable table({
      {"bf", "0.1bf", [](const In&) { return 0.1; }, 0, Type::kBfloat},
      {"BF", "1.5BF + 2bf", [](const In&) { return 3.5; }, 0, Type::kBfloat},
      {"H", "0.1H", [](const In&) { return 0.1; }, 0, Type::kHalf},
      {"h_exponent", "1e-3h", [](const In&) { return 1e-3; }, 0, Type::kHalf},
      {"hexadecimal_h", "0x1.8p3h", [](const In&) { return 12.0; }, 0, Type::kHalf},
  });
  return table;
}
MSL_EXPRESSIONS(ShortLiterals, literals);

}  // namespace
