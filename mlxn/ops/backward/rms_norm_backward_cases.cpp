#include "mlxn/ops/backward/rms_norm_backward.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

constexpr float kEps = 1e-5f;

struct Sizes {
  uint64_t rows, dim;
};
constexpr Sizes kSizes[] = {{1, 1}, {2, 32}, {8, 1024}, {4, 64}, {3, 257}, {131, 33}, {70, 5}};

double inverse_of(const double* x, uint64_t dim) {
  double squares = 0;
  for (uint64_t i = 0; i < dim; ++i) squares += x[i] * x[i];
  return 1 / std::sqrt(squares / double(dim) + double{kEps});
}

// The derivative of sum(dy * norm(x)) by x[k] as a difference, in double: independent of formulas.
double loss(std::vector<double> x, const double* dy, const double* w, uint64_t k, double change) {
  x[k] += change;
  const double r = inverse_of(x.data(), x.size());
  double total = 0;
  for (size_t i = 0; i < x.size(); ++i) total += dy[i] * x[i] * r * w[i];
  return total;
}

enum { kInput, kGradient, kInverse, kWeight, kOutput };

OpCase base_case(Sizes s, Use use) {
  const Shape whole = {s.rows, s.dim};
  return {.variant = "f32",
          .shape = str(s.rows, "x", s.dim),
          .tensors = {{kF32, whole}, {kF32, whole}, {kF32, {s.rows}}, {kF32, {s.dim}}},
          .encode = {},
          .reference = {},
          .tolerance = {1e-9, 2e-6, 2e-6},
          .flops = 4 * s.rows * s.dim,
          .use = use};
}

OpCase inverse_case(Sizes s, Use use = Use::kTest) {
  OpCase out = base_case(s, use);
  out.tensors = {{kF32, {s.rows, s.dim}, Role::kIn, uniform(-2, 2), {.sizes = {1}}},
                 {kF32, {s.rows}, Role::kOut}};
  out.encode = [](const Call& c) { return rms_inverse(c.encoder, {c[0], c[1], kEps}); };
  out.reference = [s](Values& v) {
    for (uint64_t r = 0; r < s.rows; ++r) v[1][r] = inverse_of(&v[0][r * s.dim], s.dim);
  };
  out.tolerance = {1e-12, 1e-6, 0};
  return out;
}

// The inverse is what the row says, so that the derivative is one.
Fill inverses(Sizes s) {
  return [s](Random&, std::span<double> values) {
    for (uint64_t r = 0; r < s.rows; ++r) values[r] = 0.75 + 0.001 * double(r % 100);
  };
}

OpCase input_case(Sizes s, int output, Use use = Use::kTest) {
  OpCase out = base_case(s, use);
  out.shape += output == kOutput ? "" : output == kInput ? " into input" : " into gradient";
  out.tensors[kInverse].fill = inverses(s);
  if (output == kOutput) {
    out.tensors.push_back({kF32, {s.rows, s.dim}, Role::kOut});
  } else {
    out.tensors[output].role = Role::kInOut;
  }
  out.encode = [output](const Call& c) {
    return rms_norm_backward(c.encoder,
                             {c[kInput], c[kGradient], c[kInverse], c[kWeight], c[output]});
  };
  out.reference = [=](Values& v) {
    std::vector<double> result(s.rows * s.dim);
    for (uint64_t r = 0; r < s.rows; ++r) {
      const double* x = &v[kInput][r * s.dim];
      const double* dy = &v[kGradient][r * s.dim];
      const double inverse = v[kInverse][r];
      double sum = 0;
      for (uint64_t i = 0; i < s.dim; ++i) sum += dy[i] * x[i] * v[kWeight][i];
      for (uint64_t i = 0; i < s.dim; ++i)
        result[r * s.dim + i] =
            inverse * (dy[i] * v[kWeight][i] - x[i] * sum * inverse * inverse / double(s.dim));
    }
    v[output] = result;
  };
  return out;
}

// Against differences of the norm itself.
OpCase difference_case() {
  const Sizes s = {2, 32};
  OpCase out = input_case(s, kOutput);
  out.shape = "differences";
  // What rms_inverse gives for rows of these.
  std::vector<double> x(64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(std::sin(double(i) * 1.7) + 0.1);
  out.tensors[kInput].fill = exactly(x);
  out.tensors[kInverse].fill = exactly({inverse_of(&x[0], 32), inverse_of(&x[32], 32)});
  out.reference = [s](Values& v) {
    for (uint64_t r = 0; r < s.rows; ++r) {
      const auto begin = v[kInput].begin() + r * s.dim;
      const std::vector<double> row(begin, begin + s.dim);
      const double* dy = &v[kGradient][r * s.dim];
      const double* w = v[kWeight].data();
      constexpr double kStep = 1e-5;
      for (uint64_t k = 0; k < s.dim; ++k)
        v[kOutput][r * s.dim + k] =
            (loss(row, dy, w, k, kStep) - loss(row, dy, w, k, -kStep)) / (2 * kStep);
    }
  };
  out.tolerance = {1e-9, 1e-5, 1e-5};
  return out;
}

OpCase weight_case(Sizes s, Use use = Use::kTest) {
  OpCase out = base_case(s, use);
  for (int i : {kInput, kGradient, kInverse}) out.tensors[i].fill = uniform(0.5, 1);
  out.tensors[kWeight].accepts.overlap = false;
  out.tensors.push_back({kF32, {s.dim}, Role::kOut});
  out.encode = [](const Call& c) {
    return rms_norm_weight_backward(c.encoder,
                                    {c[kInput], c[kGradient], c[kInverse], c[kWeight], c[kOutput]});
  };
  out.reference = [s](Values& v) {
    for (uint64_t i = 0; i < s.dim; ++i) {
      for (uint64_t r = 0; r < s.rows; ++r)
        v[kOutput][i] += v[kInput][r * s.dim + i] * v[kGradient][r * s.dim + i] * v[kInverse][r];
    }
  };
  out.tolerance = {1e-12, 1e-6, 1e-6};
  return out;
}

}  // namespace

std::vector<OpCases> rms_norm_backward_cases() {
  using enum ErrorCode;
  constexpr const char* kHeader = "mlxn/ops/backward/rms_norm_backward.h";
  OpCases inverse = {"rms_inverse", kHeader, "1 / rms(x)", {}, {}};
  OpCases input = {"rms_norm_backward", kHeader, "dx of x / rms(x) * w", {}, {}};
  OpCases weight = {"rms_norm_weight_backward", kHeader, "dw of x / rms(x) * w", {}, {}};
  inverse.wrong_calls = {{"eps",
                          {{kF32, {2, 4}}, {kF32, {2}}},
                          [](const Call& c) { return rms_inverse(c.encoder, {c[0], c[1], -1}); },
                          kInvalidArgument,
                          "rms_inverse: eps is -1, expected a number from 0 up"}};
  const std::vector<std::pair<Dtype, Shape>> short_inverse = {
      {kF32, {2, 4}}, {kF32, {2, 4}}, {kF32, {1}}, {kF32, {4}}, {kF32, {2, 4}}};
  input.wrong_calls = {
      {"an inverse for one row", short_inverse,
       [](const Call& c) { return rms_norm_backward(c.encoder, {c[0], c[1], c[2], c[3], c[4]}); },
       kShapeMismatch, "rms_norm_backward: inverse has 1 elements, shape [1], expected 2"}};
  weight.wrong_calls = {
      {"a gradient of all rows",
       {{kF32, {2, 4}}, {kF32, {2, 4}}, {kF32, {2}}, {kF32, {4}}, {kF32, {2, 4}}},
       [](const Call& c) {
         return rms_norm_weight_backward(c.encoder, {c[0], c[1], c[2], c[3], c[4]});
       },
       kShapeMismatch,
       "rms_norm_weight_backward: output has 8 elements, shape [2, 4], expected 4"}};
  for (const Sizes& s : kSizes) {
    inverse.cases.push_back(inverse_case(s));
    input.cases.push_back(input_case(s, kOutput));
    weight.cases.push_back(weight_case(s));
  }
  input.cases.push_back(difference_case());
  for (const int output : {kInput, kGradient}) input.cases.push_back(input_case({5, 77}, output));
  weight.cases.push_back(weight_case({1000, 3}));
  inverse.cases.push_back(inverse_case({512, 4096}, Use::kBench));
  input.cases.push_back(input_case({512, 4096}, kOutput, Use::kBench));
  weight.cases.push_back(weight_case({512, 4096}, Use::kBench));
  return {inverse, input, weight};
}

}  // namespace mlxn::cases
