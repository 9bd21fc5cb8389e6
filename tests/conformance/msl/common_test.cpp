// metal_common, metal_relational, metal_geometric and metal_pack.
#include "tests/conformance/msl/expression_case.h"

namespace {

using namespace msl_test;

double clamp(double x, double low, double high) {
  return std::fmin(std::fmax(x, low), high);
}
double smooth(double e0, double e1, double x) {
  const double t = clamp((x - e0) / (e1 - e0), 0, 1);
  return t * t * (3 - 2 * t);
}
double length3(const In& in) {
  return std::sqrt(double(in.a) * in.a + double(in.b) * in.b + double(in.c) * in.c);
}
double unorm(double x, double max) {
  return std::nearbyint(double(float(clamp(x, 0, 1)) * float(max)));
}
double snorm(double x, double max) {
  return std::nearbyint(double(float(clamp(x, -1, 1)) * float(max)));
}
uint32_t byte_of(double x) {
  return uint32_t(int32_t(x)) & 255;
}

#define REAL(name, msl, bound, domain, ...) \
  {name,                                    \
   msl,                                     \
   [](const In& in) -> double {             \
     (void)in;                              \
     return __VA_ARGS__;                    \
   },                                       \
   bound,                                   \
   Type::kFloat,                            \
   Domain::domain}
#define WHOLE(name, msl, domain, ...) \
  {name,                              \
   msl,                               \
   [](const In& in) -> double {       \
     (void)in;                        \
     return double(__VA_ARGS__);      \
   },                                 \
   0,                                 \
   Type::kUint,                       \
   Domain::domain}

ExpressionTable& common() {
  static ExpressionTable table({
      REAL("clamp", "clamp(a, b, b + 10.0f)", 0, kModerate,
           clamp(in.a, in.b, double(in.b + 10.0f))),
      REAL("clamp_nan_to_low", "clamp(a, -1.0f, 1.0f)", 0, kReal, clamp(in.a, -1, 1)),
      REAL("clamp_mixed", "clamp(a, 0, 1)", 0, kModerate, clamp(in.a, 0, 1)),
      REAL("saturate", "saturate(a)", 0, kReal, clamp(in.a, 0, 1)),
      REAL("max", "max(a, b)", 0, kReal, std::fmax(in.a, in.b)),
      REAL("min", "min(a, b)", 0, kReal, std::fmin(in.a, in.b)),
      REAL("max_mixed", "max(a, 3)", 0, kModerate, std::fmax(in.a, 3)),
      REAL("max3", "max3(a, b, c)", 0, kModerate, std::fmax(in.a, std::fmax(in.b, in.c))),
      REAL("min3", "min3(a, b, c)", 0, kModerate, std::fmin(in.a, std::fmin(in.b, in.c))),
      REAL("median3", "median3(a, b, c)", 0, kModerate,
           clamp(in.c, std::fmin(in.a, in.b), std::fmax(in.a, in.b))),
      REAL("mix", "mix(a, b, 0.25f)", 64, kModerate, in.a + (double(in.b) - in.a) * 0.25),
      REAL("mix_ends", "mix(a, b, 0.0f)", 0, kModerate, in.a),
      REAL("sign", "sign(a)", 0, kReal, std::isnan(in.a) ? 0 : (in.a > 0) - (in.a < 0)),
      REAL("step", "step(a, b)", 0, kModerate, in.b < in.a ? 0 : 1),
      REAL("smoothstep", "smoothstep(-30.0f, 30.0f, a)", 16, kModerate, smooth(-30, 30, in.a)),
      REAL("abs", "abs(a)", 0, kReal, std::fabs(in.a)),
      REAL("mix_vector_by_scalar", "mix(float2(a, b), float2(c), 0.5f).y", 1e4, kModerate,
           (double(in.b) + in.c) / 2),
      REAL("clamp_vector_by_scalars", "clamp(float3(a, b, c), -1.0f, 1.0f).z", 0, kModerate,
           clamp(in.c, -1, 1)),
      REAL("max_vector", "max(float4(a), float4(b)).w", 0, kReal, std::fmax(in.a, in.b)),
      REAL("max_vector_scalar", "max(float4(a, b, c, 0), 0.5f).y", 0, kModerate,
           std::fmax(in.b, 0.5f)),
      REAL("step_scalar_vector", "step(0.0f, float2(a, b)).y", 0, kModerate, in.b < 0 ? 0 : 1),
      REAL("exp_vector", "exp(float4(a, b, c, 1)).z", 4, kModerate, std::exp(double(in.c))),
      REAL("pow_vector_scalar", "pow(float2(a, b), 2.0f).y", 4, kPositive,
           std::pow(double(in.b), 2)),
      REAL("floor_packed", "floor(packed_float3(a, b, c)).y", 0, kReal, std::floor(in.b)),
      REAL("fma_vector", "fma(float2(a), float2(b), float2(c)).x", 0, kModerate,
           std::fmaf(in.a, in.b, in.c)),
      REAL("atan2_vector", "atan2(float3(a, b, c), float3(c, a, b)).y", 4, kModerate,
           std::atan2(double(in.b), double(in.a))),
      REAL("ldexp_vector", "ldexp(float2(a, b), int2(2, 3)).y", 0, kModerate, in.b * 8),
  });
  return table;
}
MSL_EXPRESSIONS(Common, common);

ExpressionTable& relational() {
  static ExpressionTable table({
      WHOLE("isnan", "isnan(a)", kReal, std::isnan(in.a)),
      WHOLE("isinf", "isinf(a)", kReal, std::isinf(in.a)),
      WHOLE("isfinite", "isfinite(a)", kReal, std::isfinite(in.a)),
      WHOLE("isnormal", "isnormal(a)", kReal, std::isnormal(in.a)),
      WHOLE("signbit", "signbit(a)", kReal, std::signbit(in.a) && !std::isnan(in.a)),
      WHOLE("isordered", "isordered(a, b)", kReal, !std::isunordered(in.a, in.b)),
      WHOLE("isunordered", "isunordered(a, b)", kReal, std::isunordered(in.a, in.b)),
      WHOLE("isnan_vector", "uint(any(isnan(float4(a, b, c, 1))))", kReal,
            std::isnan(in.a) || std::isnan(in.b) || std::isnan(in.c)),
      WHOLE("isfinite_half_vector", "uint(all(isfinite(half2(half(a), half(b)))))", kUnit, 1),
      WHOLE("any", "any(float3(a, b, c) > 0)", kModerate, in.a > 0 || in.b > 0 || in.c > 0),
      WHOLE("all", "all(int2(i, j) > 0)", kModerate, in.i > 0 && in.j > 0),
      WHOLE("any_of_scalar", "any(a > 0)", kModerate, in.a > 0),
      WHOLE(
          "comparisons_with_nan",
          "uint(a < b) + 2 * uint(a == b) + 4 * uint(a != b) + 8 * uint(a >= b)", kReal,
          int(in.a < in.b) + 2 * int(in.a == in.b) + 4 * int(in.a != in.b) + 8 * int(in.a >= in.b)),
      REAL("select", "select(a, b, i > 0)", 0, kReal, in.i > 0 ? in.b : in.a),
      REAL("select_vector", "select(float2(a, b), float2(c), bool2(i > 0, j > 0)).y", 0, kModerate,
           in.j > 0 ? in.c : in.b),
      REAL("select_vector_by_bool", "select(float2(a, b), float2(c), i > 0).x", 0, kModerate,
           in.i > 0 ? in.c : in.a),
      WHOLE("select_integers", "select(u, v, i > j)", kModerate, in.i > in.j ? in.v : in.u),
      WHOLE("select_half_vector", "uint(select(half4(1.0h), half4(2.0h), float4(a) > float4(b)).w)",
            kModerate, in.a > in.b ? 2 : 1),
      WHOLE("logic_on_bool_vectors",
            "uint(all((bool2(i > 0, j > 0) && bool2(true)) || !bool2(i > 0, j > 0)))", kModerate,
            1),
  });
  return table;
}
MSL_EXPRESSIONS(Relational, relational);

ExpressionTable& geometric() {
  static ExpressionTable table({
      REAL("dot2", "dot(float2(a, b), float2(c, a))", 1e4, kUnit,
           double(in.a) * in.c + double(in.b) * in.a),
      REAL("dot3", "dot(float3(a, b, c), float3(a, b, c))", 4, kModerate,
           length3(in) * length3(in)),
      REAL("dot4", "dot(float4(a, b, c, 1), float4(a, b, c, 1))", 4, kModerate,
           length3(in) * length3(in) + 1),
      REAL("dot_packed", "dot(packed_float3(a, b, c), float3(a, b, c))", 4, kModerate,
           length3(in) * length3(in)),
      REAL("length", "length(float3(a, b, c))", 4, kModerate, length3(in)),
      REAL("length_squared", "length_squared(float3(a, b, c))", 4, kModerate,
           length3(in) * length3(in)),
      REAL("distance", "distance(float2(a, b), float2(c, c))", 4, kModerate,
           std::hypot(double(in.a - in.c), double(in.b - in.c))),
      REAL("distance_squared", "distance_squared(float2(a, b), float2(c, c))", 4, kModerate,
           std::pow(double(in.a - in.c), 2) + std::pow(double(in.b - in.c), 2)),
      REAL("normalize", "normalize(float3(a, b, c)).y", 4, kModerate, in.b / length3(in)),
      REAL("cross", "cross(float3(a, b, c), float3(1, 2, 3)).z", 1e4, kModerate,
           2.0 * in.a - 1.0 * in.b),
      REAL("cross_of_axes", "cross(float3(1, 0, 0), float3(0, 1, 0)).z", 0, kModerate, 1),
      REAL("faceforward", "faceforward(float2(a, b), float2(1, 0), float2(c, 0)).y", 0, kModerate,
           in.c < 0 ? in.b : -in.b),
      REAL("reflect", "reflect(float2(a, b), float2(0, 1)).y", 0, kModerate, -in.b),
      REAL("refract_straight", "refract(float2(0, -1), float2(0, 1), 1.0f).y", 1, kModerate, -1),
      REAL("refract_total", "refract(float2(1, 0), float2(0, 1), 2.0f).x", 0, kModerate, 0),
      {"length_half", "length(half2(3.0h, 4.0h))", [](const In&) { return 5.0; }, 0, Type::kHalf},
      {"dot_half_rounds_once", "dot(half4(half(a)), half4(1.0h))",
       [](const In& in) { return 4 * rounded(in.a, Type::kHalf); }, 0, Type::kHalf},
  });
  return table;
}
MSL_EXPRESSIONS(Geometric, geometric);

ExpressionTable& pack() {
  static ExpressionTable table({
      WHOLE("unorm4x8", "pack_float_to_unorm4x8(float4(a, b, c, 2))", kUnit,
            uint32_t(unorm(in.a, 255)) | uint32_t(unorm(in.b, 255)) << 8 |
                uint32_t(unorm(in.c, 255)) << 16 | 255u << 24),
      WHOLE("snorm4x8", "pack_float_to_snorm4x8(float4(a, b, c, -2))", kUnit,
            byte_of(snorm(in.a, 127)) | byte_of(snorm(in.b, 127)) << 8 |
                byte_of(snorm(in.c, 127)) << 16 | 0x81u << 24),
      WHOLE("unorm2x16", "pack_float_to_unorm2x16(float2(a, b))", kUnit,
            uint32_t(unorm(in.a, 65535)) | uint32_t(unorm(in.b, 65535)) << 16),
      WHOLE("snorm2x16", "pack_float_to_snorm2x16(float2(a, b))", kUnit,
            (uint32_t(int32_t(snorm(in.a, 32767))) & 65535) | uint32_t(int32_t(snorm(in.b, 32767)))
                                                                  << 16),
      WHOLE("unorm10a2", "pack_float_to_unorm10a2(float4(a, b, c, 1))", kUnit,
            uint32_t(unorm(in.a, 1023)) | uint32_t(unorm(in.b, 1023)) << 10 |
                uint32_t(unorm(in.c, 1023)) << 20 | 3u << 30),
      WHOLE("unorm565", "uint(pack_float_to_unorm565(float3(a, b, c)))", kUnit,
            uint32_t(unorm(in.a, 31)) << 11 | uint32_t(unorm(in.b, 63)) << 5 |
                uint32_t(unorm(in.c, 31))),
      WHOLE("nan_packs_low", "pack_float_to_unorm4x8(float4(NAN))", kUnit, 0),
      WHOLE("half_unorm4x8", "pack_half_to_unorm4x8(half4(0.0h, 0.5h, 1.0h, 2.0h))", kUnit,
            0xffff8000u),
      WHOLE("half_snorm2x16", "pack_half_to_snorm2x16(half2(1.0h, -1.0h))", kUnit, 0x80017fffu),
      WHOLE("srgb_ends", "pack_float_to_srgb_unorm4x8(float4(0, 1, 0.5f, 0.5f))", kUnit,
            0x80bcff00u),
      REAL("unpack_unorm4x8", "unpack_unorm4x8_to_float(u).z", 1, kUnit,
           (in.u >> 16 & 255) / 255.0),
      REAL("unpack_snorm4x8", "unpack_snorm4x8_to_float(u).w", 1, kUnit,
           std::fmax(int8_t(in.u >> 24) / 127.0, -1)),
      REAL("unpack_unorm2x16", "unpack_unorm2x16_to_float(u).y", 1, kUnit, (in.u >> 16) / 65535.0),
      REAL("unpack_snorm2x16", "unpack_snorm2x16_to_float(u).x", 1, kUnit,
           std::fmax(int16_t(in.u) / 32767.0, -1)),
      REAL("unpack_unorm10a2", "unpack_unorm10a2_to_float(u).y", 1, kUnit,
           (in.u >> 10 & 1023) / 1023.0),
      REAL("unpack_unorm565", "unpack_unorm565_to_float(ushort(u)).y", 1, kUnit,
           (in.u >> 5 & 63) / 63.0),
      {"unpack_unorm4x8_half", "unpack_unorm4x8_to_half(u).x",
       [](const In& in) { return (in.u & 255) / 255.0; }, 0.6, Type::kHalf},
      {"unpack_snorm4x8_half", "unpack_snorm4x8_to_half(u).y",
       [](const In& in) { return std::fmax(int8_t(in.u >> 8) / 127.0, -1); }, 0.6, Type::kHalf},
      WHOLE("round_trip", "pack_float_to_unorm4x8(unpack_unorm4x8_to_float(u))", kUnit, in.u),
  });
  return table;
}
MSL_EXPRESSIONS(Pack, pack);

}  // namespace
