#include "mlxn/ops/backward/gradients.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
constexpr const char* kHeader = "mlxn/ops/backward/gradients.h";

// In double, so that a difference is exact enough to stand for the derivative.
double silu(double x) {
  return x / (1 + std::exp(-x));
}
double silu_slope(double x) {
  constexpr double kStep = 1e-5;
  return (silu(x + kStep) - silu(x - kStep)) / (2 * kStep);
}

// A case of two inputs of one shape and an output that may be one of them.
OpCase two_inputs(const Shape& shape, size_t output, Use use) {
  const auto role = [&](size_t i) { return output == i ? Role::kInOut : Role::kIn; };
  OpCase out = {
      .variant = "f32",
      .shape = str(shape.to_string(), output == 2 ? std::string() : str(" into ", output)),
      .tensors = {{kF32, shape, role(0)}, {kF32, shape, role(1)}},
      .encode = {},
      .reference = {},
      .tolerance = {1e-9, 2e-6, 1e-7},
      .flops = 6 * *shape.element_count(),
      .use = use};
  if (output == 2) out.tensors.push_back({kF32, shape, Role::kOut});
  return out;
}

OpCase unary_case(UnaryKind kind, uint64_t count, size_t output = 2, Use use = Use::kTest) {
  const bool is_silu = kind == UnaryKind::kSilu;
  OpCase out = two_inputs({count}, output, use);
  out.shape = str(is_silu ? "silu " : "log ", out.shape);
  out.tensors[0].fill = is_silu ? uniform(-12, 12) : uniform(0.01, 9);
  out.encode = [=](const Call& c) {
    return unary_backward(c.encoder, {c[0], c[1], c[output], kind});
  };
  out.reference = [=](Values& v) {
    for (size_t i = 0; i < v[0].size(); ++i)
      v[output][i] = v[1][i] * (is_silu ? silu_slope(v[0][i]) : 1 / v[0][i]);
  };
  if (is_silu) out.tolerance = {1e-9, 1e-6, 1e-6};  // the slope is zero near -1.28
  return out;
}

OpCase silu_extremes() {
  OpCase out = unary_case(UnaryKind::kSilu, 6);
  out.shape = "silu extremes";
  out.tensors[0].fill = exactly({0, 200, -200, -INFINITY, INFINITY, NAN});
  out.tensors[1].fill = exactly({2});
  out.reference = [](Values& v) { v[2] = {1, 2, 0, 0, NAN, NAN}; };
  return out;
}

OpCase softmax_case(uint64_t rows, uint64_t columns, size_t output = 2, Use use = Use::kTest) {
  OpCase out = two_inputs({rows, columns}, output, use);
  const double share = 2 / double(columns);
  out.tensors[0].fill = uniform(0, share);
  out.encode = [=](const Call& c) { return softmax_backward(c.encoder, {c[0], c[1], c[output]}); };
  out.reference = [=](Values& v) {
    const std::vector<double> y = v[0], dy = v[1];
    for (size_t i = 0; i < y.size(); ++i) {
      double sum = 0;
      for (size_t j = i / columns * columns, n = 0; n < columns; ++n) sum += y[j + n] * dy[j + n];
      v[output][i] = y[i] * (dy[i] - sum);
    }
  };
  out.tolerance.absolute = 1e-6 * share;
  return out;
}

OpCase row_sum_case(uint64_t rows, uint64_t columns, float scale, Use use = Use::kTest) {
  return {.variant = "f32",
          .shape = str(rows, "x", columns, " times ", scale),
          // Rows of any length.
          .tensors = {{kF32, {rows}}, {kF32, {rows, columns}, Role::kOut, {}, {.sizes = {1}}}},
          .encode = [=](const Call& c) { return row_sum_backward(c.encoder, {c[0], c[1], scale}); },
          .reference =
              [=](Values& v) {
                for (size_t i = 0; i < v[1].size(); ++i) v[1][i] = v[0][i / columns] * scale;
              },
          .flops = rows * columns,
          .use = use};
}

}  // namespace

std::vector<OpCases> gradients_cases() {
  using enum ErrorCode;
  OpCases unary = {"unary_backward", kHeader, "dy * f'(x)", {}, {}};
  unary.wrong_calls = {
      {"of another function",
       {{kF32, {4}}, {kF32, {4}}, {kF32, {4}}},
       [](const Call& c) { return unary_backward(c.encoder, {c[0], c[1], c[2], UnaryKind::kExp}); },
       kInvalidArgument,
       "unary_backward: kind 5, expected that of silu or log"}};
  for (const UnaryKind kind : {UnaryKind::kSilu, UnaryKind::kLog}) {
    for (const uint64_t count : {1u, 31u, 257u}) unary.cases.push_back(unary_case(kind, count));
    for (const size_t output : {0u, 1u}) unary.cases.push_back(unary_case(kind, 100, output));
  }
  unary.cases.push_back(silu_extremes());
  unary.cases.push_back(unary_case(UnaryKind::kSilu, 1 << 21, 2, Use::kBench));

  OpCases softmax = {"softmax_backward", kHeader, "y * (dy - sum(y * dy))", {}, {}};
  softmax.wrong_calls = {
      {"of halves",
       {{kF16, {2, 4}}, {kF16, {2, 4}}, {kF16, {2, 4}}},
       [](const Call& c) { return softmax_backward(c.encoder, {c[0], c[1], c[2]}); },
       kDtypeMismatch,
       "softmax_backward: result is f16, expected f32"}};
  for (const uint64_t columns : {1u, 31u, 33u, 257u})
    softmax.cases.push_back(softmax_case(3, columns));
  for (const size_t output : {0u, 1u}) softmax.cases.push_back(softmax_case(2, 70, output));
  softmax.cases.push_back(softmax_case(512, 4096, 2, Use::kBench));

  OpCases row_sum = {"row_sum_backward", kHeader, "dy of the row", {}, {}};
  row_sum.wrong_calls = {
      {"scale",
       {{kF32, {2}}, {kF32, {2, 4}}},
       [](const Call& c) { return row_sum_backward(c.encoder, {c[0], c[1], NAN}); },
       kInvalidArgument,
       "row_sum_backward: scale is nan, expected a finite number"}};
  for (const uint64_t columns : {1u, 31u, 257u})
    row_sum.cases.push_back(row_sum_case(3, columns, 1));
  row_sum.cases.push_back(row_sum_case(5, 64, 1.0f / 64));
  row_sum.cases.push_back(row_sum_case(512, 4096, 1, Use::kBench));
  return {unary, softmax, row_sum};
}

}  // namespace mlxn::cases
