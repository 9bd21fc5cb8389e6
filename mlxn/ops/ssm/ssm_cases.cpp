#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/ssm/gate_beta.h"
#include "mlxn/ops/ssm/ssm_conv.h"
#include "mlxn/ops/ssm/tri_solve.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

struct Conv {
  uint64_t sequences, tokens, channels, taps;
};

// Tensors: input, weight, state, output and the new state unless it goes into the state.
void reference(Values& v, const Conv& s, size_t new_state) {
  const uint64_t before = s.taps - 1;
  for (uint64_t sequence = 0; sequence < s.sequences; ++sequence) {
    for (uint64_t c = 0; c < s.channels; ++c) {
      double* state = v[2].data() + (sequence * s.channels + c) * before;
      std::vector<double> x(state, state + before);
      for (uint64_t t = 0; t < s.tokens; ++t) {
        x.push_back(v[0][(sequence * s.tokens + t) * s.channels + c]);
      }
      for (uint64_t t = 0; t < s.tokens; ++t) {
        double sum = 0;
        for (uint64_t k = 0; k < s.taps; ++k) sum += v[1][c * s.taps + k] * x[t + k];
        v[3][(sequence * s.tokens + t) * s.channels + c] = sum / (1 + std::exp(-sum));
      }
      for (uint64_t i = 0; i < before; ++i) {
        v[new_state][(sequence * s.channels + c) * before + i] = x[s.tokens + i];
      }
    }
  }
}

OpCase conv_case(const Conv& s, Dtype dtype, bool in_place, Use use = Use::kTest) {
  const Shape data = {s.sequences, s.tokens, s.channels};
  const Shape state = {s.sequences, s.channels, s.taps - 1};
  const size_t new_state = in_place ? 2 : 4;
  OpCase out = {.variant = str(text(dtype), s.taps == 4 ? " 4 taps" : ""),
                .shape = str(s.sequences, "x", s.tokens, "x", s.channels, " by ", s.taps,
                             in_place ? " in place" : ""),
                .tensors = {{dtype, data},
                            {dtype, {s.channels, s.taps}, Role::kIn, uniform(-0.5, 1)},
                            {dtype, state, in_place ? Role::kInOut : Role::kIn},
                            {dtype, data, Role::kOut}},
                .encode =
                    [new_state](const Call& c) {
                      return ssm_conv(c.encoder, {c[0], c[1], c[2], c[3], c[new_state]});
                    },
                .reference = [s, new_state](Values& v) { reference(v, s, new_state); },
                .tolerance = {1.6e-5, precision(dtype) + 1e-6, 2e-6},
                .flops = 2 * s.sequences * s.tokens * s.channels * s.taps,
                .use = use,
                .ledger = "B15.9"};
  if (dtype == kF32) out.tolerance.nmse = 1e-12;
  if (!in_place) out.tensors.push_back({dtype, state, Role::kOut});
  return out;
}

// A large number and what is lost behind it, one by one, in half the bits; it is taken away again.
constexpr double kLarge = 2048, kSmall = 1;

OpCase conv_large_then_small_case(uint64_t taps, Dtype dtype) {
  OpCase out = conv_case({1, 9, 5, taps}, dtype, false);
  out.shape += " large, then small";
  std::vector<double> weight(taps, kSmall);
  weight.front() = kLarge;
  weight.back() = -kLarge;
  out.tensors[0].fill = exactly({1});
  out.tensors[1].fill = exactly(weight);
  out.tensors[2].fill = exactly({1});
  return out;
}

OpCases conv_ops() {
  OpCases out = {"ssm_conv", "mlxn/ops/ssm/ssm_conv.h", "silu(conv), state", {}, {}};
  for (Dtype dtype : kFloats) {
    for (const Conv& s : {Conv{2, 3, 4, 4}, Conv{1, 6, 4, 4}, Conv{1, 1, 33, 4}, Conv{2, 2, 5, 4},
                          Conv{1, 17, 130, 4}, Conv{3, 2, 3, 3}, Conv{1, 1, 3, 2}, Conv{2, 9, 7, 5},
                          Conv{1, 3, 5, 32}, Conv{2, 40, 3, 32}}) {
      out.cases.push_back(conv_case(s, dtype, false));
      out.cases.push_back(conv_case(s, dtype, true));
    }
    for (uint64_t taps : {4u, 9u}) {
      out.cases.push_back(conv_large_then_small_case(taps, dtype));
    }
  }
  for (uint64_t tokens : {1u, 512u}) {
    out.cases.push_back(conv_case({1, tokens, 8192, 4}, kF32, true, Use::kBench));
  }
  out.wrong_calls = {
      {"one tap",
       {{kF32, {1, 2, 4}}, {kF32, {4, 1}}, {kF32, {1, 4, 1}}, {kF32, {1, 2, 4}}},
       [](const Call& c) { return ssm_conv(c.encoder, {c[0], c[1], c[2], c[3], c[2]}); },
       kOutOfRange,
       "ssm_conv: 1 taps, expected 2 to 32"}};
  return out;
}

OpCase gate_case(uint64_t tokens, uint64_t heads, Fill alpha, bool in_place,
                 const std::string& what = "", Use use = Use::kTest) {
  const Shape shape = {tokens, heads};
  const size_t gate = in_place ? 0 : 4, beta = in_place ? 1 : 5;
  OpCase out = {.variant = "f32",
                .shape = str(tokens, "x", heads, what, in_place ? " in place" : ""),
                .tensors = {{kF32, shape, in_place ? Role::kInOut : Role::kIn, alpha},
                            {kF32, shape, in_place ? Role::kInOut : Role::kIn, uniform(-9, 9)},
                            {kF32, {heads}},
                            {kF32, {heads}, Role::kIn, uniform(-9, 0)}},
                .encode =
                    [=](const Call& c) {
                      return gate_beta(c.encoder, {c[0], c[1], c[2], c[3], c[gate], c[beta]});
                    },
                .reference =
                    [=](Values& v) {
                      for (size_t i = 0; i < v[0].size(); ++i) {
                        const double x = v[0][i] + v[2][i % heads];
                        const double plus = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
                        v[gate][i] = plus * -v[3][i % heads];
                        v[beta][i] = 1 / (1 + std::exp(-v[1][i]));
                      }
                    },
                .tolerance = {1e-12, 1e-6, 1e-37},
                .use = use};
  if (in_place) return out;
  out.tensors.push_back({kF32, shape, Role::kOut});
  out.tensors.push_back({kF32, shape, Role::kOut});
  return out;
}

OpCases gate_ops() {
  OpCases out = {
      "gate_beta", "mlxn/ops/ssm/gate_beta.h", "softplus(x + b) * -a, sigmoid(y)", {}, {}};
  for (bool in_place : {false, true}) {
    for (auto [tokens, heads] : {std::pair(1, 1), std::pair(3, 2), std::pair(7, 33),
                                 std::pair(5, 48), std::pair(2, 100)}) {
      out.cases.push_back(gate_case(uint64_t(tokens), uint64_t(heads), uniform(-9, 9), in_place));
    }
    OpCase ends = gate_case(5, 4, exactly({-60, -21, -19, 0, 19, 21, 100, 1e30, -1e-3}), in_place,
                            " at the ends");
    ends.tensors[2].fill = exactly({0});
    out.cases.push_back(ends);
  }
  out.cases.push_back(gate_case(1, 32, uniform(-9, 9), false, "", Use::kBench));
  out.cases.push_back(gate_case(4096, 48, uniform(-9, 9), false, "", Use::kBench));
  out.wrong_calls = {
      {"one output for both",
       {{kF32, {2, 4}}, {kF32, {2, 4}}, {kF32, {4}}, {kF32, {4}}, {kF32, {2, 4}}},
       [](const Call& c) { return gate_beta(c.encoder, {c[0], c[1], c[2], c[3], c[4], c[4]}); },
       kInvalidArgument,
       "gate_beta: output and beta share memory"}};
  return out;
}

// Tensors: matrix, right, output.
OpCase solve_case(uint64_t batch, uint64_t n, uint64_t m, Dtype dtype, bool in_place,
                  Use use = Use::kTest) {
  const size_t output = in_place ? 1 : 2;
  const double most = 1 / std::sqrt(double(n));
  OpCase out = {
      .variant = text(dtype),
      .shape = str(batch, "x", n, "x", m, in_place ? " in place" : ""),
      .tensors = {{dtype, {batch, n, n}, Role::kIn, uniform(-most, most)},
                  {dtype, {batch, n, m}, in_place ? Role::kInOut : Role::kIn}},
      .encode = [output](const Call& c) { return tri_solve(c.encoder, {c[0], c[1], c[output]}); },
      .reference =
          [=](Values& v) {
            for (uint64_t b = 0; b < batch; ++b) {
              for (uint64_t i = 0; i < n * m; ++i) {
                double sum = v[1][b * n * m + i];
                for (uint64_t j = 0; j < i / m; ++j) {
                  sum -= v[0][(b * n + i / m) * n + j] * v[output][(b * n + j) * m + i % m];
                }
                v[output][b * n * m + i] = rounded(dtype, sum);
              }
            }
          },
      .tolerance = {1e-5, precision(dtype), 1e-5},
      .use = use};
  if (dtype != kF32) out.tolerance.absolute = 20 * precision(dtype);
  if (in_place) out.tensors[1].accepts.sizes = {2};
  if (!in_place) out.tensors.push_back({dtype, {batch, n, m}, Role::kOut});
  return out;
}

// All rows but the last are those of B.
OpCase solve_large_then_small_case(Dtype dtype) {
  constexpr uint64_t kSize = 40, kColumns = 3;
  OpCase out = solve_case(1, kSize, kColumns, dtype, false);
  out.shape += " large, then small";
  std::vector<double> matrix(kSize * kSize, 0.0), right(kSize * kColumns, kSmall);
  std::fill(matrix.end() - kSize, matrix.end(), 1.0);
  std::fill(right.begin(), right.begin() + kColumns, kLarge);
  std::fill(right.end() - kColumns, right.end(), kLarge);
  out.tensors[0].fill = exactly(matrix);
  out.tensors[1].fill = exactly(right);
  return out;
}

OpCases solve_ops() {
  OpCases out = {"tri_solve", "mlxn/ops/ssm/tri_solve.h", "L \\ B", {}, {}};
  for (Dtype dtype : kFloats) {
    for (bool in_place : {false, true}) {
      out.cases.push_back(solve_case(2, 3, 2, dtype, in_place));
      out.cases.push_back(solve_case(5, 4, 8, dtype, in_place));
      out.cases.push_back(solve_case(1, 1, 1, dtype, in_place));
      out.cases.push_back(solve_case(2, 33, 65, dtype, in_place));
      out.cases.push_back(solve_case(1, 64, 7, dtype, in_place));
    }
    out.cases.push_back(solve_large_then_small_case(dtype));
  }
  // Neither the diagonal nor what is above it is read.
  OpCase upper = solve_case(1, 3, 2, kF32, false);
  upper.shape += " with NaN above";
  upper.tensors[0].fill = exactly({NAN, NAN, NAN, 0.5, NAN, NAN, -0.25, 2, NAN});
  out.cases.push_back(upper);
  OpCase ones = solve_case(1, 200, 3, kF32, false);
  ones.shape += " of one sign";  // a long sum
  ones.tensors[0].fill = uniform(-0.006, -0.004);
  ones.tensors[1].fill = uniform(1, 2);
  out.cases.push_back(ones);
  out.cases.push_back(solve_case(64, 64, 64, kF32, false, Use::kBench));
  out.wrong_calls = {{"two dimensions",
                      {{kF32, {4, 4}}, {kF32, {4, 2}}, {kF32, {4, 2}}},
                      [](const Call& c) { return tri_solve(c.encoder, {c[0], c[1], c[2]}); },
                      kShapeMismatch,
                      "tri_solve: right has shape [4, 2], expected [batch, n, m]"}};
  return out;
}

}  // namespace

std::vector<OpCases> ssm_cases() {
  return {conv_ops(), gate_ops(), solve_ops()};
}

}  // namespace mlxn::cases
