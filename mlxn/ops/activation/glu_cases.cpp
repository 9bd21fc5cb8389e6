#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/activation/glu.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using Scalar = double (*)(double gate, double up);

constexpr float kAlpha = 1.5f, kLimit = 2.5f;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Function {
  GluKind kind;
  const char* name;
  Scalar of;
};
const Function kFunctions[] = {
    {GluKind::kSwiglu, "swiglu", [](double g, double u) { return g * sigmoid(g) * u; }},
    {GluKind::kGegluTanh, "geglu_tanh",
     [](double g, double u) {
       return g * sigmoid(1.5957691216057308 * (g + 0.044715 * g * g * g)) * u;
     }},
    {GluKind::kGegluErf, "geglu_erf",
     [](double g, double u) { return 0.5 * g * std::erfc(-g * M_SQRT1_2) * u; }},
    {GluKind::kGegluQuick, "geglu_quick",
     [](double g, double u) { return g * sigmoid(1.702 * g) * u; }},
    {GluKind::kReglu, "reglu", [](double g, double u) { return std::max(g, 0.0) * u; }},
    {GluKind::kSigmoid, "sigmoid", [](double g, double u) { return sigmoid(g) * u; }},
    {GluKind::kSwigluOai, "swiglu_oai",
     [](double g, double u) {
       g = std::min(g, double{kLimit});
       u = std::clamp(u, -double{kLimit}, double{kLimit});
       return g * sigmoid(kAlpha * g) * (1 + u);
     }},
};

enum class Layout { kTwo, kGateFirst, kGateSecond, kIntoGate, kIntoUp };
constexpr const char* kLayouts[] = {"", " both", " gate second", " into gate", " into up"};

struct Setup {
  uint64_t rows, dim;
  Layout layout = Layout::kTwo;

  bool is_fused() const { return layout == Layout::kGateFirst || layout == Layout::kGateSecond; }
  size_t output() const {
    return layout == Layout::kIntoGate ? 0 : layout == Layout::kIntoUp || is_fused() ? 1 : 2;
  }
};

void reference(Values& v, const Setup& s, Scalar of) {
  const std::vector<double> first = v[0], second = v[1];
  for (uint64_t i = 0; i < s.rows * s.dim; ++i) {
    double gate = first[s.is_fused() ? i / s.dim * 2 * s.dim + i % s.dim : i];
    double up = s.is_fused() ? first[i / s.dim * 2 * s.dim + s.dim + i % s.dim] : second[i];
    if (s.layout == Layout::kGateSecond) std::swap(gate, up);
    v[s.output()][i] = of(gate, up);
  }
}

OpCase make_case(Dtype dtype, const Function& f, const Setup& s, Use use = Use::kTest) {
  const Shape one = {s.rows, s.dim}, both = {s.rows, 2 * s.dim};
  const auto role = [&](size_t i) { return s.output() == i ? Role::kInOut : Role::kIn; };
  OpCase out = {.variant = text(dtype),
                .shape = str(f.name, " ", s.rows, "x", s.dim, kLayouts[int(s.layout)]),
                .tensors = {{dtype, s.is_fused() ? both : one, role(0), uniform(-5, 5)}},
                .encode =
                    [=](const Call& c) {
                      return glu(c.encoder, {.gate = c[0],
                                             .output = c[s.output()],
                                             .up = s.is_fused() ? nullptr : &c[1],
                                             .kind = f.kind,
                                             .gate_second = s.layout == Layout::kGateSecond,
                                             .alpha = kAlpha,
                                             .limit = kLimit});
                    },
                .reference = [=](Values& v) { reference(v, s, f.of); },
                .tolerance = {1e-5, precision(dtype) * 0.51 + 4e-6, dtype == kF16 ? 1e-7 : 1e-9},
                .flops = 5 * s.rows * s.dim,
                .use = use};
  if (!s.is_fused()) out.tensors.push_back({dtype, one, role(1), uniform(-5, 5)});
  if (s.is_fused() || s.layout == Layout::kTwo) out.tensors.push_back({dtype, one, Role::kOut});
  return out;
}

// Far out the gate is open or shut, a NaN on either side stays.
OpCase far_out(const Function& f) {
  OpCase out = make_case(kF32, f, {1, 7});
  out.shape = str(f.name, " far out");
  out.tensors[0].fill = exactly({20, -200, 1e4, -1e4, -INFINITY, NAN, 1});
  out.tensors[1].fill = exactly({3, 2, 2, 1, 1, 1, NAN});
  out.reference = [of = f.of](Values& v) {
    for (size_t i = 0; i < 7; ++i) v[2][i] = i == 4 ? 0 : of(v[0][i], v[1][i]);
    v[2][5] = v[2][6] = NAN;
  };
  out.tolerance = {1e-5, 2e-6, 1e-30};
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto fused = [](const Call& c) { return glu(c.encoder, {.gate = c[0], .output = c[1]}); };
  const auto two = [](GluKind kind, float alpha, float limit, bool second = false) {
    return [=](const Call& c) {
      return glu(c.encoder, {.gate = c[0],
                             .output = c[0],
                             .up = &c[0],
                             .kind = kind,
                             .gate_second = second,
                             .alpha = alpha,
                             .limit = limit});
    };
  };
  const std::pair<Dtype, Shape> eight = {kF32, {8}};
  return {
      {"odd row of both",
       {{kF32, {2, 7}}, {kF32, {7}}},
       fused,
       kShapeMismatch,
       "glu: gate has shape [2, 7], expected rows of gate and up, of an even length"},
      {"output as long as both",
       {{kF32, {2, 8}}, {kF32, {2, 8}}},
       fused,
       kShapeMismatch,
       "glu: output has 16 elements, shape [2, 8], expected 8"},
      {"no kind", {eight}, two(GluKind::kCount, 1, 1), kInvalidArgument, "glu: kind 7, expected"},
      {"gate second of two",
       {eight},
       two(GluKind::kReglu, 1, 1, true),
       kInvalidArgument,
       "glu: gate_second with up, expected a row of both"},
      {"alpha", {eight}, two(GluKind::kSwigluOai, NAN, 1), kInvalidArgument, "glu: alpha is nan"},
      {"limit",
       {eight},
       two(GluKind::kSwigluOai, 1, -1),
       kInvalidArgument,
       "glu: limit is -1, expected a number from 0 up"},
      {"no float", {{kI32, {8}}}, two(GluKind::kReglu, 1, 1), kDtypeMismatch, "glu: dtype i32"},
  };
}

}  // namespace

std::vector<OpCases> glu_cases() {
  OpCases out = {"glu", "mlxn/ops/activation/glu.h", "f(gate) * up", {}, wrong_calls()};
  for (const Function& f : kFunctions) {
    for (Dtype dtype : kFloats) {
      out.cases.push_back(make_case(dtype, f, {3, 67}));
      out.cases.push_back(make_case(dtype, f, {3, 67, Layout::kGateFirst}));
      out.cases.back().variant += " both";
    }
    for (const uint64_t dim : {2047u, 4099u}) out.cases.push_back(make_case(kF32, f, {1, dim}));
    out.cases.push_back(make_case(kF32, f, {2, 33, Layout::kGateSecond}));
    if (f.kind != GluKind::kReglu) out.cases.push_back(far_out(f));
  }
  for (Dtype dtype : kFloats) {
    out.cases.push_back(make_case(dtype, kFunctions[0], {1, 1}));
    out.cases.push_back(make_case(dtype, kFunctions[1], {2, 40, Layout::kIntoGate}));
    out.cases.push_back(make_case(dtype, kFunctions[6], {2, 40, Layout::kIntoUp}));
    out.cases.push_back(make_case(dtype, kFunctions[5], {5, 1, Layout::kGateSecond}));
    out.cases.back().variant += " both";
  }
  out.cases.push_back(make_case(kF32, kFunctions[0], {1, 17408}, Use::kBench));
  out.cases.push_back(make_case(kF32, kFunctions[0], {512, 17408}, Use::kBench));
  out.cases.push_back(
      make_case(kF32, kFunctions[1], {2455, 2112, Layout::kGateFirst}, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
