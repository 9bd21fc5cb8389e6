#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/matmul/matmul_silu_mul.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t m, n, k;
};

enum { kGate, kUp, kInput, kOutput };

double dot(const Values& v, size_t weights, const Sizes& s, uint64_t m, uint64_t n) {
  double sum = 0;
  for (uint64_t k = 0; k < s.k; ++k) sum += v[kInput][m * s.k + k] * v[weights][n * s.k + k];
  return sum;
}

void reference(Values& v, const Sizes& s) {
  for (uint64_t m = 0; m < s.m; ++m) {
    for (uint64_t n = 0; n < s.n; ++n) {
      const double gate = dot(v, kGate, s, m, n), up = dot(v, kUp, s, m, n);
      v[kOutput][m * s.n + n] = gate / (1 + std::exp(-gate)) * up;
    }
  }
}

OpCase make_case(Dtype format, Sizes s, Use use) {
  const Fill small = uniform(-0.1, 0.1);
  return {.variant = text(format),
          .shape = str(s.m, "x", s.n, "x", s.k),
          .tensors = {{format, {s.n, s.k}, Role::kIn, small},
                      {format, {s.n, s.k}, Role::kIn, small},
                      {kF32, {s.m, s.k}},
                      {kF32, {s.m, s.n}, Role::kOut}},
          .encode =
              [](const Call& call) {
                return matmul_silu_mul(call.encoder,
                                       {call[kGate], call[kUp], call[kInput], call[kOutput]});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .tolerance = {1e-10, 1e-4, 1e-6 * double(s.k)},
          .flops = 4 * s.m * s.n * s.k,
          .use = use};
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return matmul_silu_mul(c.encoder, {c[0], c[1], c[2], c[3]});
  };
  const std::pair<Dtype, Shape> weights = {kQ8_0, {4, 64}}, input = {kF32, {2, 64}},
                                output = {kF32, {2, 4}}, square = {kF32, {8, 8}};
  return {
      {"up of another format",
       {weights, {kQ4_0, {4, 64}}, input, output},
       call,
       kDtypeMismatch,
       "matmul_silu_mul: up is q4_0, expected q8_0"},
      {"up of another shape",
       {weights, {kQ8_0, {8, 32}}, input, output},
       call,
       kShapeMismatch,
       "matmul_silu_mul: up has shape [8, 32], expected [4, 64]"},
      {"output too short",
       {weights, weights, input, {kF32, {2, 3}}},
       call,
       kShapeMismatch,
       "matmul_silu_mul: output has 6 elements, shape [2, 3], expected 8"},
      {"output is the input",
       {square, square, square},
       [](const Call& c) { return matmul_silu_mul(c.encoder, {c[0], c[1], c[2], c[2]}); },
       kInvalidArgument,
       "matmul_silu_mul: output and input share memory"},
      {"output is a weight",
       {square, square, square},
       [](const Call& c) { return matmul_silu_mul(c.encoder, {c[0], c[1], c[2], c[1]}); },
       kInvalidArgument,
       "matmul_silu_mul: output and up share memory"},
  };
}

}  // namespace

std::vector<OpCases> matmul_silu_mul_cases() {
  OpCases out = {"matmul_silu_mul",
                 "mlxn/ops/matmul/matmul_silu_mul.h",
                 "silu_mul(x gᵀ, x uᵀ)",
                 {},
                 wrong_calls()};
  for (Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements, deep = block > 32 ? 768 : 576;
    for (const Sizes& s : {Sizes{1, 33, deep}, Sizes{1, 1, block}, Sizes{3, 7, deep + block},
                           Sizes{5, 9, deep}, Sizes{9, 6, deep}}) {
      out.cases.push_back(make_case(format, s, Use::kTest));
    }
  }
  for (uint64_t k : {1u, 31u, 515u}) out.cases.push_back(make_case(kF32, {3, 5, k}, Use::kTest));
  for (uint64_t m : {1u, 4u, 8u, 512u}) {
    out.cases.push_back(make_case(kQ4_1, {m, 1536, 576}, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
