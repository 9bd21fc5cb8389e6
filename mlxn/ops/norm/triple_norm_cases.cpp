#include "mlxn/ops/norm/triple_norm.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

constexpr float kEps = 1e-5f;

enum { kInput, kWeights, kOutputs = 4, kHidden = 7, kHiddenWeight, kSum };

// The row x / rms(x).
std::vector<double> normed(const std::vector<double>& x, size_t begin, size_t dim) {
  std::vector<double> out(x.begin() + begin, x.begin() + begin + dim);
  double squares = 0;
  for (const double value : out) squares += value * value;
  for (double& value : out) value /= std::sqrt(squares / double(dim) + double{kEps});
  return out;
}

void reference(Values& v, Dtype dtype, size_t sum) {
  const bool has_hidden = v.size() > kHidden;
  const size_t dim = v[kWeights].size();
  std::vector<double> x = v[kInput];
  for (size_t begin = 0; begin < x.size(); begin += dim) {
    if (has_hidden) {
      const std::vector<double> own = normed(v[kInput], begin, dim);
      for (size_t i = 0; i < dim; ++i)
        x[begin + i] = rounded(dtype, v[kHidden][begin + i] + own[i] * v[kHiddenWeight][i]);
    }
    const std::vector<double> row = normed(x, begin, dim);
    for (size_t j = 0; j < 3; ++j)
      for (size_t i = 0; i < dim; ++i) v[kOutputs + j][begin + i] = row[i] * v[kWeights + j][i];
  }
  if (has_hidden) v[sum] = x;
}

OpCase make_case(Dtype dtype, uint64_t rows, uint64_t dim, bool has_hidden, bool in_place,
                 Use use = Use::kTest) {
  const Shape whole = {rows, dim}, row = {dim};
  const Dtype weight = dtype == kF16 ? kF32 : dtype;
  const size_t sum = in_place ? size_t{kHidden} : size_t{kSum};
  OpCase out = {.variant = str(text(dtype), has_hidden ? " after attention" : ""),
                .shape = str(rows, "x", dim, in_place ? " sum in hidden" : ""),
                .tensors = {{dtype, whole}},
                .encode =
                    [=](const Call& c) {
                      return triple_norm(
                          c.encoder, {.input = c[kInput],
                                      .weights = {&c[kWeights], &c[kWeights + 1], &c[kWeights + 2]},
                                      .outputs = {&c[kOutputs], &c[kOutputs + 1], &c[kOutputs + 2]},
                                      .eps = kEps,
                                      .hidden = has_hidden ? &c[kHidden] : nullptr,
                                      .hidden_weight = has_hidden ? &c[kHiddenWeight] : nullptr,
                                      .sum = has_hidden ? &c[sum] : nullptr});
                    },
                .reference = [=](Values& v) { reference(v, dtype, sum); },
                .tolerance = {1e-5, precision(dtype) * 0.51 + 1e-6, 1e-6},
                .flops = 8 * rows * dim,
                .use = use,
                .ledger = has_hidden ? "B15.1" : ""};
  for (int j = 0; j < 3; ++j) out.tensors.push_back({weight, row});
  for (int j = 0; j < 3; ++j) out.tensors.push_back({dtype, whole, Role::kOut});
  if (!has_hidden) return out;
  out.tensors.push_back({dtype, whole, in_place ? Role::kInOut : Role::kIn});
  out.tensors.push_back({weight, row});
  if (!in_place) out.tensors.push_back({dtype, whole, Role::kOut});
  // A sum that rounds to the other side turns up in the outputs.
  if (dtype != kF32) out.tolerance = {1e-4, 1.6 * precision(dtype), 2 * precision(dtype)};
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> rows = {kF32, {2, 4}}, row = {kF32, {4}};
  const auto with = [](auto change) {
    return [=](const Call& c) {
      TripleNormParams params = {
          .input = c[0], .weights = {&c[1], &c[1], &c[1]}, .outputs = {&c[2], &c[3], &c[4]}};
      change(params, c);
      return triple_norm(c.encoder, params);
    };
  };
  const std::vector<std::pair<Dtype, Shape>> arguments = {rows, row, rows, rows, rows};
  return {
      {"no third weight", arguments,
       with([](TripleNormParams& p, const Call&) { p.weights[2] = nullptr; }), kInvalidArgument,
       "triple_norm: weights[2] is missing, expected three of each"},
      {"hidden alone", arguments,
       with([](TripleNormParams& p, const Call& c) { p.hidden = &c[0]; }), kInvalidArgument,
       "triple_norm: 1 of hidden, hidden weight and sum, expected all or none"},
      {"one output twice", arguments,
       with([](TripleNormParams& p, const Call& c) { p.outputs[2] = &c[2]; }), kInvalidArgument,
       "triple_norm: output and outputs[2] share memory, expected none in common"},
      {"eps", arguments, with([](TripleNormParams& p, const Call&) { p.eps = NAN; }),
       kInvalidArgument, "triple_norm: eps is nan, expected a number from 0 up"},
  };
}

}  // namespace

std::vector<OpCases> triple_norm_cases() {
  OpCases out = {
      "triple_norm", "mlxn/ops/norm/triple_norm.h", "x / rms(x) * w[j]", {}, wrong_calls()};
  for (Dtype dtype : kFloats) {
    for (uint64_t dim : {1u, 3u, 255u, 257u, 2816u}) {
      for (const bool has_hidden : {false, true})
        out.cases.push_back(make_case(dtype, 3, dim, has_hidden, false));
      out.cases.push_back(make_case(dtype, 2, dim, true, true));
    }
    // Long enough that what is lost is seen in 8 bits.
    OpCase& large = out.cases.emplace_back(make_case(dtype, 1, 12800, false, false));
    large.shape += " large, then small";
    large.tensors[kInput].fill = large_then_small(32, 64, 1);
  }
  out.cases.push_back(make_case(kF32, 512, 2816, false, false, Use::kBench));
  out.cases.push_back(make_case(kF32, 512, 2816, true, false, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
