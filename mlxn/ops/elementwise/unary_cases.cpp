#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/unary.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using Scalar = double (*)(double x, double a, double b);

struct Function {
  UnaryKind kind;
  const char* name;
  Scalar of;
  double low = -8, high = 8;  // where it is tried
  double relative = 0;        // its own error in f32, beyond the rounding
  float a = 1, b = 0;
  double absolute = 0;  // where the value is a difference
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double hard(double x) {
  return std::min(std::max(x + 3, 0.0), 6.0) / 6;
}

#define MLXN_OF(...)                           \
  [](double x, double a, double b) -> double { \
    (void)a;                                   \
    (void)b;                                   \
    return __VA_ARGS__;                        \
  }
const Function kFunctions[] = {
    {UnaryKind::kNeg, "neg", MLXN_OF(-x)},
    {UnaryKind::kAbs, "abs", MLXN_OF(std::abs(x))},
    {UnaryKind::kSqr, "sqr", MLXN_OF(x* x)},
    {UnaryKind::kSqrt, "sqrt", MLXN_OF(std::sqrt(x)), 0, 100, 1e-7},
    {UnaryKind::kRsqrt, "rsqrt", MLXN_OF(1 / std::sqrt(x)), 1e-3, 100, 2e-7},
    {UnaryKind::kExp, "exp", MLXN_OF(std::exp(x)), -8, 8, 3e-7},
    {UnaryKind::kExpm1, "expm1", MLXN_OF(std::expm1(x)), -3, 3, 4e-7},
    {UnaryKind::kLog, "log", MLXN_OF(std::log(x)), 1e-3, 1000, 3e-7},
    {UnaryKind::kSin, "sin", MLXN_OF(std::sin(x)), -100, 100, 3e-7, 1, 0, 1e-7},
    {UnaryKind::kCos, "cos", MLXN_OF(std::cos(x)), -100, 100, 3e-7, 1, 0, 1e-7},
    {UnaryKind::kTanh, "tanh", MLXN_OF(std::tanh(x)), -8, 8, 4e-7},
    {UnaryKind::kSigmoid, "sigmoid", MLXN_OF(sigmoid(x)), -20, 20, 4e-7},
    {UnaryKind::kRelu, "relu", MLXN_OF(std::max(x, 0.0))},
    {UnaryKind::kLeakyRelu, "leaky_relu", MLXN_OF(x > 0 ? x : a * x), -8, 8, 1e-7, 0.125f},
    {UnaryKind::kElu, "elu", MLXN_OF(x > 0 ? x : a * std::expm1(x)), -8, 8, 5e-7, 1.5f},
    {UnaryKind::kGeluTanh, "gelu_tanh",
     MLXN_OF(x* sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x))), -6, 6, 5e-6},
    {UnaryKind::kGeluErf, "gelu_erf", MLXN_OF(0.5 * x * std::erfc(-x * 0.7071067811865476)), -6, 6,
     8e-7},
    {UnaryKind::kGeluQuick, "gelu_quick", MLXN_OF(x* sigmoid(1.702 * x)), -8, 8, 2e-6},
    {UnaryKind::kSilu, "silu", MLXN_OF(x* sigmoid(x)), -20, 20, 5e-7},
    {UnaryKind::kSoftplus, "softplus", MLXN_OF(x > 30 ? x : std::log1p(std::exp(x))), -20, 40,
     5e-7},
    {UnaryKind::kHardswish, "hardswish", MLXN_OF(x* hard(x)), -8, 8, 1e-6},
    {UnaryKind::kHardsigmoid, "hardsigmoid", MLXN_OF(hard(x)), -8, 8, 1e-6},
    {UnaryKind::kStep, "step", MLXN_OF(x > 0 ? 1 : 0)},
    {UnaryKind::kSign, "sign",
     MLXN_OF(x > 0   ? 1
             : x < 0 ? -1
                     : 0)},
    {UnaryKind::kFloor, "floor", MLXN_OF(std::floor(x))},
    {UnaryKind::kCeil, "ceil", MLXN_OF(std::ceil(x))},
    {UnaryKind::kRound, "round", MLXN_OF(std::round(x))},
    {UnaryKind::kTrunc, "trunc", MLXN_OF(std::trunc(x))},
    {UnaryKind::kSoftcap, "softcap", MLXN_OF(std::tanh(x / a) * a), -100, 100, 6e-7, 30},
    {UnaryKind::kClamp, "clamp", MLXN_OF(std::min(std::max(x, a), b)), -8, 8, 0, -2.5f, 3},
    {UnaryKind::kAffine, "affine", MLXN_OF(x* a + b), -8, 8, 1e-7, 1.25f, -3, 3e-7},
};
#undef MLXN_OF

OpCase make_case(Dtype dtype, const Function& f, uint64_t count, Use use, bool in_place = false) {
  const size_t output = in_place ? 0 : 1;
  OpCase out = {
      .variant = text(dtype),
      .shape = str(f.name, " ", count, in_place ? " in place" : ""),
      .tensors = {{dtype, {count}, in_place ? Role::kInOut : Role::kIn, uniform(f.low, f.high)}},
      .encode =
          [=](const Call& c) {
            return unary(c.encoder,
                         {.input = c[0], .output = c[output], .kind = f.kind, .a = f.a, .b = f.b});
          },
      .reference =
          [=](Values& v) {
            for (size_t i = 0; i < v[0].size(); ++i) v[output][i] = f.of(v[0][i], f.a, f.b);
          },
      .flops = 4 * count,
      .use = use};
  if (f.relative > 0) {
    // Half a unit of the rounding; f16 has no digits to lose below its smallest number.
    const double rounding = precision(dtype) / 2;
    const double least = dtype == Dtype::kF16 ? 3e-8 : 1e-37;
    out.tolerance = {1e-5, rounding * 1.01 + f.relative, std::max(least, f.absolute)};
  }
  if (!in_place) out.tensors.push_back({dtype, {count}, Role::kOut});
  return out;
}

OpCase values_case(const std::string& what, UnaryKind kind, std::vector<double> inputs,
                   const std::vector<double>& expected, float a = 1, float b = 0) {
  const uint64_t count = inputs.size();
  return {.variant = "f32",
          .shape = what,
          .tensors = {{Dtype::kF32, {count}, Role::kIn, exactly(std::move(inputs))},
                      {Dtype::kF32, {count}, Role::kOut}},
          .encode =
              [=](const Call& c) {
                return unary(c.encoder,
                             {.input = c[0], .output = c[1], .kind = kind, .a = a, .b = b});
              },
          .reference = [expected](Values& v) { v[1] = expected; },
          .tolerance = {1e-5, 1e-6, 1e-37}};
}

void add_special_values(std::vector<OpCase>& out) {
  using enum UnaryKind;
  constexpr double kInf = INFINITY, kNan = NAN;
  const std::vector<double> far = {kInf, -kInf, 1e4, -1e4, 3e38, -3e38, 0, kNan};
  for (const UnaryKind kind :
       {kRelu, kGeluTanh, kGeluErf, kGeluQuick, kSilu, kHardswish, kSoftplus})
    out.push_back(values_case(str("far out ", static_cast<uint32_t>(kind)), kind, far,
                              {kInf, 0, 1e4, 0, 3e38, 0, kind == kSoftplus ? M_LN2 : 0, kNan}));
  for (const UnaryKind kind : {kSigmoid, kHardsigmoid})
    out.push_back(values_case(str("far out ", static_cast<uint32_t>(kind)), kind, far,
                              {1, 0, 1, 0, 1, 0, 0.5, kNan}));
  out.push_back(values_case("tanh far out", kTanh, far, {1, -1, 1, -1, 1, -1, 0, kNan}));
  out.push_back(
      values_case("softcap far out", kSoftcap, far, {30, -30, 30, -30, 30, -30, 0, kNan}, 30));
  out.push_back(values_case("clamp far out", kClamp, far, {7, -9, 7, -9, 7, -9, 0, kNan}, -9, 7));
  out.push_back(values_case("sign", kSign, far, {1, -1, 1, -1, 1, -1, 0, kNan}));
  out.push_back(values_case("step", kStep, far, {1, 0, 1, 0, 1, 0, 0, kNan}));
  out.push_back(values_case("log of what has none", kLog, {0, -1, kInf, 1, kNan},
                            {-kInf, kNan, kInf, 0, kNan}));
  out.push_back(values_case("sqrt of what has none", kSqrt, {-1, 0, kInf, kNan, 4},
                            {kNan, 0, kInf, kNan, 2}));
  out.push_back(values_case("rsqrt of what has none", kRsqrt, {-1, 0, kInf, kNan, 4},
                            {kNan, kInf, 0, kNan, 0.5}));
  for (const UnaryKind kind : {kExp, kExpm1}) {
    const double least = kind == kExp ? 0 : -1;
    out.push_back(values_case(str("exponential far out ", static_cast<uint32_t>(kind)), kind,
                              {kInf, -kInf, 89, -110, 0, kNan},
                              {kInf, least, kInf, least, least + 1, kNan}));
  }
  for (const UnaryKind kind : {kSin, kCos})
    out.push_back(values_case(str("wave of infinity ", static_cast<uint32_t>(kind)), kind,
                              {kInf, -kInf, kNan, 0},
                              {kNan, kNan, kNan, kind == kCos ? 1.0 : 0.0}));
  out.push_back(values_case("elu far out", kElu, far, {kInf, -2, 1e4, -2, 3e38, -2, 0, kNan}, 2));
  out.push_back(values_case("leaky_relu far out", kLeakyRelu, {kInf, -kInf, -4, kNan},
                            {kInf, -kInf, -1, kNan}, 0.25f));
  out.push_back(values_case("round ties", kRound, {0.5, 1.5, -0.5, -2.5, 0.49999997, 8388609},
                            {1, 2, -1, -3, 0, 8388609}));
  out.push_back(values_case("expm1 near zero", kExpm1,
                            {1e-20, -1e-20, 1e-7, -1e-4, 0.4999, -0.5001},
                            {1e-20, -1e-20, std::expm1(1e-7), std::expm1(-1e-4), std::expm1(0.4999),
                             std::expm1(-0.5001)}));
  out.push_back(values_case(
      "softplus tails", kSoftplus, {-80, -40, -16.5, -1},
      {std::exp(-80.0), std::exp(-40.0), std::log1p(std::exp(-16.5)), std::log1p(std::exp(-1.0))}));
  out.back().tolerance.relative = 4e-6;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> eight = {Dtype::kF32, {8}};
  const auto with = [](UnaryKind kind, float a, float b) {
    return [=](const Call& c) {
      return unary(c.encoder, {.input = c[0], .output = c[0], .kind = kind, .a = a, .b = b});
    };
  };
  return {
      {"no float",
       {{Dtype::kI32, {8}}},
       with(UnaryKind::kAbs, 1, 0),
       kDtypeMismatch,
       "unary: dtype i32, expected f32, f16 or bf16"},
      {"cap of zero",
       {eight},
       with(UnaryKind::kSoftcap, 0, 0),
       kInvalidArgument,
       "unary: a is 0 and b 0, expected a positive cap"},
      {"limits the wrong way round",
       {eight},
       with(UnaryKind::kClamp, 2, 1),
       kInvalidArgument,
       "unary: a is 2 and b 1, expected numbers in order"},
      {"limit that is no number",
       {eight},
       with(UnaryKind::kClamp, NAN, 1),
       kInvalidArgument,
       "expected numbers in order"},
      {"infinite factor",
       {eight},
       with(UnaryKind::kAffine, INFINITY, 0),
       kInvalidArgument,
       "unary: a is inf and b 0, expected finite numbers"},
      {"no kind",
       {eight},
       with(UnaryKind::kCount, 1, 0),
       kInvalidArgument,
       "unary: kind 31, expected less than 31"},
  };
}

}  // namespace

std::vector<OpCases> unary_cases() {
  OpCases out = {"unary", "mlxn/ops/elementwise/unary.h", "f(x)", {}, wrong_calls()};
  for (const Function& f : kFunctions) {
    out.cases.push_back(make_case(Dtype::kF32, f, 257, Use::kTest));
    out.cases.push_back(make_case(Dtype::kF16, f, 67, Use::kTest));
    out.cases.push_back(make_case(Dtype::kBf16, f, 31, Use::kTest, true));
  }
  const Function& silu = kFunctions[static_cast<size_t>(UnaryKind::kSilu)];
  for (Dtype dtype : kFloats) out.cases.push_back(make_case(dtype, silu, 1, Use::kTest));
  // One below and above whole threadgroups, and below what one does at most.
  for (const uint64_t count : {255u, 256u, 2047u, 2049u, 4099u})
    out.cases.push_back(make_case(Dtype::kF32, silu, count, Use::kTest, true));
  add_special_values(out.cases);
  for (const UnaryKind kind :
       {UnaryKind::kAffine, UnaryKind::kSilu, UnaryKind::kGeluErf, UnaryKind::kSoftcap}) {
    const Function& f = kFunctions[static_cast<size_t>(kind)];
    out.cases.push_back(make_case(Dtype::kF32, f, 1 << 22, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
