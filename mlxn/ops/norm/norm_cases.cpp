#include "mlxn/ops/norm/norm.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/optional_tensors.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

constexpr float kEps = 1e-5f;

// The tensors of a case, of which most may be missing. Output and sum may be other tensors.
struct Setup {
  std::string what;
  uint64_t rows = 1, dim = 1;
  NormKind kind = NormKind::kRms;
  bool weight = false, bias = false, gate = false, residual = false, sum = false, copy = false;
  ResidualAt at = ResidualAt::kLast;
  uint64_t factor = 0;  // elements
  uint32_t copy_heads = 0;
  enum { kInput, kResidual, kWeight, kBias, kGate, kFactor, kOutput, kSum, kCopy, kCount };
  int output_in = kOutput, sum_in = kSum;
  float eps = kEps;
};

bool has(const Setup& s, int tensor) {
  const bool there[] = {true,
                        s.residual,
                        s.weight,
                        s.bias,
                        s.gate,
                        s.factor > 0,
                        s.output_in == Setup::kOutput,
                        s.sum && s.sum_in == Setup::kSum,
                        s.copy};
  return there[tensor];
}

// Where a tensor is among those of the case.
size_t place(const Setup& s, int tensor) {
  return place_among(tensor, [&](int i) { return has(s, i); });
}

double divisor(const Setup& s, const std::vector<double>& x, double mean) {
  double squares = 0;
  for (const double value : x) squares += (value - mean) * (value - mean);
  if (s.kind == NormKind::kL2) return std::sqrt(squares + double{s.eps});
  if (s.kind == NormKind::kL2AtLeast) return std::max(std::sqrt(squares), double{s.eps});
  return std::sqrt(squares / double(x.size()) + double{s.eps});
}

void reference(Values& v, const Setup& s) {
  const auto tensor = [&](int i) -> std::vector<double>& { return v[place(s, i)]; };
  const Values in = v;
  const auto input = [&](int i, size_t at) { return has(s, i) ? in[place(s, i)][at] : 0.0; };
  for (uint64_t r = 0; r < s.rows; ++r) {
    std::vector<double> x(s.dim);
    double total = 0;
    const bool first = s.at == ResidualAt::kFirst;
    for (uint64_t i = 0; i < s.dim; ++i) {
      x[i] = input(Setup::kInput, r * s.dim + i);
      if (s.residual && first) x[i] += input(Setup::kResidual, r * s.dim + i);
      total += x[i];
    }
    const double mean = s.kind == NormKind::kLayer ? total / double(s.dim) : 0;
    const double divided_by = divisor(s, x, mean);
    for (uint64_t i = 0; i < s.dim; ++i) {
      const uint64_t at = r * s.dim + i;
      double y = (x[i] - mean) / divided_by;
      if (s.weight) y *= input(Setup::kWeight, i);
      if (s.bias) y += input(Setup::kBias, i);
      if (s.gate) y *= input(Setup::kGate, at) / (1 + std::exp(-input(Setup::kGate, at)));
      if (s.residual && !first) y += input(Setup::kResidual, at);
      if (s.factor > 0) y *= input(Setup::kFactor, s.factor == 1 ? 0 : i);
      if (s.sum) tensor(s.sum_in)[at] = x[i];
      tensor(s.output_in)[at] = y;
      const uint64_t heads = std::max(s.copy_heads, 1u);
      const uint64_t row = r % heads * (s.rows / heads) + r / heads;
      if (s.copy) tensor(Setup::kCopy)[row * s.dim + i] = y;
    }
  }
}

Status encode(const Call& c, const Setup& s) {
  const auto tensor = [&](int i, bool wanted) { return wanted ? &c[place(s, i)] : nullptr; };
  return norm(c.encoder, {.input = c[0],
                          .output = c[place(s, s.output_in)],
                          .kind = s.kind,
                          .eps = s.eps,
                          .weight = tensor(Setup::kWeight, s.weight),
                          .bias = tensor(Setup::kBias, s.bias),
                          .gate = tensor(Setup::kGate, s.gate),
                          .residual = tensor(Setup::kResidual, s.residual),
                          .residual_at = s.at,
                          .factor = tensor(Setup::kFactor, s.factor > 0),
                          .sum = tensor(s.sum_in, s.sum),
                          .copy = tensor(Setup::kCopy, s.copy),
                          .copy_heads = s.copy_heads});
}

OpCase make_case(Dtype dtype, const Setup& s, Use use = Use::kTest, std::string ledger = {}) {
  const Dtype weight = dtype == kF16 ? kF32 : dtype;
  // What goes together is a variant once, of f32.
  const std::string what = s.what.empty() ? "" : " " + s.what;
  OpCase out = {.variant = dtype == kF32 ? "f32" + what : text(dtype),
                .shape = str(s.rows, "x", s.dim, dtype == kF32 ? "" : what),
                .tensors = {},
                .encode = [s](const Call& c) { return encode(c, s); },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-5, precision(dtype) * 0.51 + 1e-6, 1e-6},
                .flops = 4 * s.rows * s.dim,
                .use = use,
                .ledger = std::move(ledger)};
  // Of the residual what is written is exact to its rounding alone, like the output's own last bit.
  const Shape whole = {s.rows, s.dim}, row = {s.dim};
  const Shape shapes[] = {whole, whole, row, row, whole, {s.factor}, whole, whole, whole};
  for (int i = 0; i < Setup::kCount; ++i) {
    if (!has(s, i)) continue;
    const bool vector = i == Setup::kWeight || i == Setup::kBias || i == Setup::kFactor;
    const bool written = i == s.output_in || (s.sum && i == s.sum_in);
    const Role role = i >= Setup::kOutput ? Role::kOut : written ? Role::kInOut : Role::kIn;
    Tensor tensor = {i == Setup::kCopy ? kBf16 : vector ? weight : dtype, shapes[i], role};
    if (i == Setup::kInput && s.kind == NormKind::kLayer) tensor.fill = uniform(1, 3);
    // One number is taken for a factor of all.
    if (i == Setup::kFactor && s.factor == s.dim && s.dim == 2) tensor.accepts.sizes = {0};
    out.tensors.push_back(std::move(tensor));
  }
  // What works on one tensor alone takes any number of rows.
  if (std::ranges::count(out.tensors, whole, &Tensor::shape) == 1)
    out.tensors[0].accepts.sizes = {0};
  if (s.copy) out.tolerance.relative = 0x1p-8 * 1.01 + 1e-6;
  return out;
}

void add_plain(std::vector<OpCase>& out, Dtype dtype) {
  const uint64_t dims[] = {1, 3, 31, 64, 255, 256, 257, 2816};
  for (const uint64_t dim : dims)
    out.push_back(make_case(dtype, {.what = "", .rows = 3, .dim = dim}));
  out.push_back(make_case(dtype, {.what = "", .rows = 1, .dim = 8192}));
  struct Named {
    NormKind kind;
    const char* name;
  };
  for (const Named& n : {Named{NormKind::kLayer, "layer"}, Named{NormKind::kL2, "l2"},
                         Named{NormKind::kL2AtLeast, "l2 at least"}}) {
    for (const uint64_t dim : {3u, 129u, 1000u})
      out.push_back(make_case(dtype, {.what = n.name, .rows = 2, .dim = dim, .kind = n.kind}));
  }
  out.push_back(make_case(dtype, {.what = "layer weight bias",
                                  .rows = 4,
                                  .dim = 67,
                                  .kind = NormKind::kLayer,
                                  .weight = true,
                                  .bias = true}));
}

// With a residual: what the original calls fused_residual_norm and fused_norm_add.
void add_residual(std::vector<OpCase>& out, Dtype dtype) {
  Setup s = {.what = "first",
             .rows = 3,
             .dim = 300,
             .weight = true,
             .residual = true,
             .at = ResidualAt::kFirst};
  out.push_back(make_case(dtype, s, Use::kTest, "B15.2"));
  s.sum = true;
  s.what = "first sum";
  out.push_back(make_case(dtype, s));
  s.what = "first sum in residual";
  s.sum_in = Setup::kResidual;
  out.push_back(make_case(dtype, s, Use::kTest, "B15.3"));
  s.what = "first sum in input";
  s.sum_in = Setup::kInput;
  out.push_back(make_case(dtype, s, Use::kTest, "B15.3"));
  s.what = "first sum in residual, output in input";
  s.sum_in = Setup::kResidual;
  s.output_in = Setup::kInput;
  out.push_back(make_case(dtype, s, Use::kTest, "B15.3"));
  for (const uint64_t factor : {1u, 77u}) {
    s = {.what = str("first factor ", factor),
         .rows = 5,
         .dim = 77,
         .weight = true,
         .residual = true,
         .at = ResidualAt::kFirst,
         .factor = factor};
    out.push_back(make_case(dtype, s));
    s.what = str("last factor ", factor);
    s.at = ResidualAt::kLast;
    out.push_back(make_case(dtype, s));
  }
  s = {.what = "last", .rows = 3, .dim = 300, .weight = true, .residual = true};
  out.push_back(make_case(dtype, s));
  s.what = "last without weight";
  s.weight = false;
  out.push_back(make_case(dtype, s));
  s.what = "last in residual";
  s.output_in = Setup::kResidual;
  out.push_back(make_case(dtype, s));
}

void add_others(std::vector<OpCase>& out, Dtype dtype) {
  Setup s = {.what = "gate", .rows = 6, .dim = 128, .weight = true, .gate = true};
  out.push_back(make_case(dtype, s));
  s.what = "gate in place";
  s.output_in = Setup::kInput;
  out.push_back(make_case(dtype, s));
  s = {.what = "copy", .rows = 6, .dim = 65, .copy = true};
  out.push_back(make_case(dtype, s));
  s.what = "copy permuted";
  s.copy_heads = 3;
  out.push_back(make_case(dtype, s));
  s = {.what = "in place", .rows = 3, .dim = 257, .weight = true};
  s.output_in = Setup::kInput;
  out.push_back(make_case(dtype, s));
}

// A row of zeros, of one number and of numbers that are far apart; a NaN stays in its row.
void add_special(std::vector<OpCase>& out) {
  for (const NormKind kind :
       {NormKind::kRms, NormKind::kLayer, NormKind::kL2, NormKind::kL2AtLeast}) {
    Setup s = {.what = "", .rows = 2, .dim = 40, .kind = kind};
    OpCase zeros = make_case(kF32, s);
    zeros.shape = str("zeros ", static_cast<int>(kind));
    zeros.tensors[0].fill = exactly({0});
    out.push_back(zeros);
    OpCase nan = make_case(kF32, s);
    nan.shape = str("NaN ", static_cast<int>(kind));
    nan.tensors[0].fill = [](Random& random, std::span<double> values) {
      uniform(-2, 2)(random, values);
      values[7] = NAN;
    };
    nan.reference = [s](Values& v) {
      reference(v, s);
      for (int i = 0; i < 40; ++i) v[1][i] = NAN;
    };
    out.push_back(nan);
  }
  Setup s = {.what = "", .rows = 2, .dim = 2048, .kind = NormKind::kLayer};
  OpCase far = make_case(kF32, s);
  far.shape = "far from zero";
  far.tensors[0].fill = uniform(999, 1001);
  far.tolerance.absolute = 2e-4;  // of the mean's own rounding
  out.push_back(far);
  s = {.what = "", .rows = 1, .dim = 2, .kind = NormKind::kL2, .eps = 0};
  OpCase triangle = make_case(kF32, s);
  triangle.shape = "3 4 5";
  triangle.tensors[0].fill = exactly({3, 4});
  triangle.reference = [](Values& v) { v[1] = {0.6, 0.8}; };
  out.push_back(triangle);
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  using Change = std::function<void(NormParams&, const Call&)>;
  const auto with = [](const Change& change) {
    return [change](const Call& c) {
      NormParams params = {.input = c[0], .output = c[1]};
      change(params, c);
      return norm(c.encoder, params);
    };
  };
  const std::pair<Dtype, Shape> rows = {kF32, {3, 8}}, bf16 = {kBf16, {3, 8}};
  return {
      {"eps",
       {rows, rows},
       with([](NormParams& p, const Call&) { p.eps = -1; }),
       kInvalidArgument,
       "norm: eps is -1, expected a number from 0 up"},
      {"no kind",
       {rows, rows},
       with([](NormParams& p, const Call&) { p.kind = NormKind::kCount; }),
       kInvalidArgument,
       "norm: kind 4, expected less than 4"},
      {"sum without a residual",
       {rows, rows, rows},
       with([](NormParams& p, const Call& c) { p.sum = &c[2]; }),
       kInvalidArgument,
       "norm: sum without a residual that is added first"},
      {"sum of a residual behind",
       {rows, rows, rows, rows},
       with([](NormParams& p, const Call& c) {
         p.sum = &c[2];
         p.residual = &c[3];
       }),
       kInvalidArgument,
       "norm: sum without a residual that is added first"},
      {"heads that do not divide",
       {rows, rows, bf16},
       with([](NormParams& p, const Call& c) {
         p.copy = &c[2];
         p.copy_heads = 2;
       }),
       kShapeMismatch,
       "norm: copy_heads is 2, expected a divisor of 3 rows"},
      {"heads without a copy",
       {rows, rows},
       with([](NormParams& p, const Call&) { p.copy_heads = 3; }),
       kInvalidArgument,
       "norm: copy_heads is 3 without a copy, expected 0"},
      {"factor of another length",
       {rows, rows, {kF32, {3}}},
       with([](NormParams& p, const Call& c) { p.factor = &c[2]; }),
       kShapeMismatch,
       "norm: factor has 3 elements, shape [3], expected 8"},
      {"no float",
       {{kI32, {8}}, {kI32, {8}}},
       with([](NormParams&, const Call&) {}),
       kDtypeMismatch,
       "norm: dtype i32, expected f32, f16 or bf16"},
  };
}

}  // namespace

std::vector<OpCases> norm_cases() {
  OpCases out = {"norm", "mlxn/ops/norm/norm.h", "x / norm(x) * w + b", {}, wrong_calls()};
  for (Dtype dtype : kFloats) {
    add_plain(out.cases, dtype);
    add_residual(out.cases, dtype);
    add_others(out.cases, dtype);
  }
  add_special(out.cases);
  const Setup big = {.what = "", .rows = 512, .dim = 4096, .weight = true};
  out.cases.push_back(make_case(kF32, big, Use::kBench));
  Setup residual = {.what = "first sum",
                    .rows = 512,
                    .dim = 2048,
                    .weight = true,
                    .residual = true,
                    .sum = true,
                    .at = ResidualAt::kFirst};
  out.cases.push_back(make_case(kF32, residual, Use::kBench));
  const Setup heads = {.what = "", .rows = 4096 * 8, .dim = 256};
  out.cases.push_back(make_case(kF32, heads, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
