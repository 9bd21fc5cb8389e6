// metal_math for float, in safe mode, and the fast and precise namespaces.
#include "tests/conformance/msl/expression_case.h"

namespace {

using namespace msl_test;

double sin_pi(double x) {
  const double k = std::fmod(x, 2.0);
  return k == 0 || std::fabs(k) == 1 ? 0 : std::sin(M_PI * k);
}
double cos_pi(double x) {
  const double k = std::fabs(std::fmod(x, 2.0));
  return k == 0.5 || k == 1.5 ? 0 : std::cos(M_PI * k);
}
double fract(double x) {
  return std::isinf(x) ? 0 : std::isnan(x) ? x : std::fmin(x - std::floor(x), 0x1.fffffep-1);
}
double exponent(double x) {
  int e = 0;
  if (std::isfinite(x)) std::frexp(x, &e);
  return e;
}
double fraction(double x) {
  int e = 0;
  return std::isfinite(x) ? std::frexp(x, &e) : x;
}
float narrow(double x) {
  return static_cast<float>(x);
}

#define ONE(name, bound, domain)              \
  {#name, #name "(a)",  [](const In& in) { return std::name(double(in.a)); }, \
   bound, Type::kFloat, Domain::domain}
#define TWO(name, bound, domain)                \
  {#name, #name "(a, b)", [](const In& in) { return std::name(double(in.a), double(in.b)); }, \
   bound, Type::kFloat,   Domain::domain}

ExpressionTable& precise_table() {
  static ExpressionTable table({
      ONE(acos, 4, kUnit),
      ONE(acosh, 4, kPositive),
      ONE(asin, 4, kUnit),
      ONE(asinh, 4, kReal),
      ONE(atan, 4, kReal),
      ONE(atanh, 4, kUnit),
      ONE(ceil, 0, kReal),
      ONE(cos, 4, kReal),
      ONE(cosh, 4, kReal),
      ONE(exp, 4, kReal),
      ONE(exp2, 4, kReal),
      ONE(fabs, 0, kReal),
      ONE(floor, 0, kReal),
      ONE(log, 4, kReal),
      ONE(log10, 4, kReal),
      ONE(log2, 4, kReal),
      ONE(rint, 0, kReal),
      ONE(round, 0, kIntegers),
      ONE(sin, 4, kReal),
      ONE(sinh, 4, kReal),
      ONE(sqrt, 0.5, kReal),
      ONE(tan, 4, kReal),
      ONE(tanh, 4, kReal),
      ONE(trunc, 0, kReal),
      TWO(atan2, 4, kReal),
      TWO(copysign, 0, kReal),
      TWO(fdim, 0, kModerate),
      TWO(fmod, 0, kReal),
      TWO(pow, 4, kReal),
      {"exp10", "exp10(a)", [](const In& in) { return std::pow(10.0, double(in.a)); }, 4,
       Type::kFloat, Domain::kReal},
      {"rsqrt", "rsqrt(a)", [](const In& in) { return 1 / std::sqrt(double(in.a)); }, 4,
       Type::kFloat, Domain::kPositive},
      {"sinpi", "sinpi(a)", [](const In& in) { return sin_pi(in.a); }, 4},
      {"cospi", "cospi(a)", [](const In& in) { return cos_pi(in.a); }, 4},
      {"tanpi", "tanpi(a)",
       [](const In& in) { return std::tan(M_PI * std::remainder(double(in.a), 1.0)); }, 8},
      {"powr", "powr(a, b)", [](const In& in) { return std::pow(double(in.a), double(in.b)); }, 4,
       Type::kFloat, Domain::kPositive},
      {"divide", "divide(a, b)", [](const In& in) { return double(in.a) / double(in.b); }, 0.51},
      {"fma", "fma(a, b, c)", [](const In& in) { return double(std::fmaf(in.a, in.b, in.c)); }, 0,
       Type::kFloat, Domain::kReal},
      {"fmax", "fmax(a, b)", [](const In& in) { return double(std::fmax(in.a, in.b)); }, 0,
       Type::kFloat, Domain::kReal},
      {"fmin", "fmin(a, b)", [](const In& in) { return double(std::fmin(in.a, in.b)); }, 0,
       Type::kFloat, Domain::kReal},
      {"fmax3", "fmax3(a, b, c)",
       [](const In& in) { return double(std::fmax(in.a, std::fmax(in.b, in.c))); }, 0, Type::kFloat,
       Domain::kReal},
      {"fmin3", "fmin3(a, b, c)",
       [](const In& in) { return double(std::fmin(in.a, std::fmin(in.b, in.c))); }, 0, Type::kFloat,
       Domain::kReal},
      {"fmedian3", "fmedian3(a, b, c)",
       [](const In& in) {
         return double(std::fmax(std::fmin(in.a, in.b), std::fmin(std::fmax(in.a, in.b), in.c)));
       }},
      {"fract", "fract(a)", [](const In& in) { return fract(in.a); }, 0.5, Type::kFloat,
       Domain::kReal},
      {"frexp_fraction", "([&] { int e; return frexp(a, e); }())",
       [](const In& in) { return fraction(in.a); }, 0, Type::kFloat, Domain::kReal},
      {"frexp_exponent", "([&] { int e; frexp(a, e); return e; }())",
       [](const In& in) { return exponent(in.a); }, 0, Type::kInt, Domain::kReal},
      {"modf_fraction", "([&] { float w; return modf(a, w); }())",
       [](const In& in) {
         double w;
         return std::modf(double(in.a), &w);
       },
       0, Type::kFloat, Domain::kReal},
      {"modf_whole", "([&] { float w; modf(a, w); return w; }())",
       [](const In& in) {
         double w;
         std::modf(double(in.a), &w);
         return w;
       },
       0, Type::kFloat, Domain::kReal},
      {"ldexp", "ldexp(a, clamp(i, -300, 300))",
       [](const In& in) { return std::ldexp(double(in.a), std::max(-300, std::min(300, in.i))); },
       0, Type::kFloat, Domain::kReal},
      {"ilogb", "ilogb(a)", [](const In& in) { return double(std::ilogb(in.a)); }, 0, Type::kInt,
       Domain::kPositive},
      {"nextafter", "nextafter(a, b)",
       [](const In& in) { return double(std::nextafter(in.a, in.b)); }, 0, Type::kFloat,
       Domain::kReal},
      {"sincos_sine", "([&] { float c2; return sincos(a, c2); }())",
       [](const In& in) { return std::sin(double(in.a)); }, 4},
      {"sincos_cosine", "([&] { float c2; sincos(a, c2); return c2; }())",
       [](const In& in) { return std::cos(double(in.a)); }, 4},
      {"exp_of_integer", "exp(i % 20)", [](const In& in) { return std::exp(double(in.i % 20)); },
       4},
      {"sqrt_of_unsigned", "sqrt(u)", [](const In& in) { return std::sqrt(double(narrow(in.u))); },
       0.5},
      {"pow_mixed", "pow(a, 2)", [](const In& in) { return std::pow(double(in.a), 2.0); }, 1},
      {"precise_exp", "precise::exp(a)", [](const In& in) { return std::exp(double(in.a)); }, 4},
      {"precise_sin", "precise::sin(a)", [](const In& in) { return std::sin(double(in.a)); }, 4},
      {"precise_cos", "precise::cos(a)", [](const In& in) { return std::cos(double(in.a)); }, 4},
      {"precise_tanh", "precise::tanh(a)", [](const In& in) { return std::tanh(double(in.a)); }, 4},
      {"precise_sqrt", "precise::sqrt(a)", [](const In& in) { return std::sqrt(double(in.a)); },
       0.5, Type::kFloat, Domain::kPositive},
      {"precise_rsqrt", "precise::rsqrt(a)",
       [](const In& in) { return 1 / std::sqrt(double(in.a)); }, 2, Type::kFloat,
       Domain::kPositive},
      {"precise_divide", "precise::divide(a, b)",
       [](const In& in) { return double(in.a) / double(in.b); }, 0.51},
      {"precise_pow", "precise::pow(a, b)",
       [](const In& in) { return std::pow(double(in.a), double(in.b)); }, 4, Type::kFloat,
       Domain::kPositive},
      {"fast_exp", "fast::exp(a)", [](const In& in) { return std::exp(double(in.a)); }, 100},
      {"fast_exp2", "fast::exp2(a)", [](const In& in) { return std::exp2(double(in.a)); }, 4},
      {"fast_log", "fast::log(a)", [](const In& in) { return std::log(double(in.a)); }, 16,
       Type::kFloat, Domain::kPositive},
      {"fast_log2", "fast::log2(a)", [](const In& in) { return std::log2(double(in.a)); }, 16,
       Type::kFloat, Domain::kPositive},
      {"fast_pow", "fast::pow(a, 1.5f)", [](const In& in) { return std::pow(double(in.a), 1.5); },
       64, Type::kFloat, Domain::kPositive},
      {"fast_sqrt", "fast::sqrt(a)", [](const In& in) { return std::sqrt(double(in.a)); }, 4,
       Type::kFloat, Domain::kPositive},
      {"fast_tanh", "fast::tanh(a)", [](const In& in) { return std::tanh(double(in.a)); }, 16},
      {"fast_fmax", "fast::fmax(a, b)", [](const In& in) { return double(std::fmax(in.a, in.b)); }},
      {"fast_clamp", "fast::clamp(a, -1.0f, 1.0f)",
       [](const In& in) { return double(std::fmin(std::fmax(in.a, -1.0f), 1.0f)); }},
      {"literals_are_float", "sizeof(1.0) == 4 ? 0.1 : 1.0",
       [](const In&) { return double(0.1f); }},
      {"literal_arithmetic_is_float", "a * 0.1", [](const In& in) { return double(in.a * 0.1f); }},
      {"infinity_macro", "INFINITY", [](const In&) { return INFINITY; }},
      {"nan_macro", "NAN", [](const In&) { return NAN; }},
      {"pi_macro", "M_PI_F", [](const In&) { return M_PI; }},
      {"contraction_is_one_rounding_or_two", "a * b + c",
       [](const In& in) { return double(in.a) * double(in.b) + double(in.c); }, 1e4},
  });
  return table;
}
MSL_EXPRESSIONS(Math, precise_table);

// Under fast math results may differ a little, never wildly.
ExpressionTable& fast_table() {
  static ExpressionTable table(
      {
          {"exp", "exp(a)", [](const In& in) { return std::exp(double(in.a)); }, 100},
          {"log", "log(a)", [](const In& in) { return std::log(double(in.a)); }, 16, Type::kFloat,
           Domain::kPositive},
          {"sin", "sin(a)", [](const In& in) { return std::sin(double(in.a)); }, 64},
          {"pow", "pow(a, 2.5f)", [](const In& in) { return std::pow(double(in.a), 2.5); }, 64,
           Type::kFloat, Domain::kPositive},
          {"sqrt", "sqrt(a)", [](const In& in) { return std::sqrt(double(in.a)); }, 4, Type::kFloat,
           Domain::kPositive},
          {"tanh", "tanh(a)", [](const In& in) { return std::tanh(double(in.a)); }, 16},
          {"divide", "a / b", [](const In& in) { return double(in.a) / double(in.b); }, 4},
          {"precise_stays_precise", "precise::exp(a)",
           [](const In& in) { return std::exp(double(in.a)); }, 4},
          {"precise_sin_of_large", "precise::sin(a)",
           [](const In& in) { return std::sin(double(in.a)); }, 4, Type::kFloat, Domain::kPositive},
          {"isnan_still_works", "isnan(a)", [](const In& in) { return double(std::isnan(in.a)); },
           0, Type::kInt, Domain::kReal},
      },
      "", Options{.fast_math = true, .macros = {}});
  return table;
}
MSL_EXPRESSIONS(FastMath, fast_table);

}  // namespace
