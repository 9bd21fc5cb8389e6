#include "mlxn/base/strings.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t m, n, k;
};

enum { kWeights, kInput, kOutput };

void reference(Values& v, const Sizes& s) {
  for (uint64_t m = 0; m < s.m; ++m) {
    for (uint64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (uint64_t k = 0; k < s.k; ++k) sum += v[kInput][m * s.k + k] * v[kWeights][n * s.k + k];
      v[kOutput][m * s.n + n] = sum;
    }
  }
}

OpCase make_case(Dtype format, Sizes s, Use use) {
  return {.variant = text(format),
          .shape = str(s.m, "x", s.n, "x", s.k),
          .tensors = {{format, {s.n, s.k}, Role::kIn, uniform(-1, 1)},
                      {kF32, {s.m, s.k}},
                      {kF32, {s.m, s.n}, Role::kOut}},
          .encode =
              [](const Call& call) {
                return matmul(call.encoder, {call[kWeights], call[kInput], call[kOutput]});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .tolerance = {1e-12, 1e-5, 1e-6 * double(s.k)},
          .flops = 2 * s.m * s.n * s.k,
          .use = use};
}

// Scales that have few bits left as a half: nothing may be computed with them but in float.
OpCase small_scales(Dtype format) {
  OpCase out = make_case(format, {9, 6, 512}, Use::kTest);
  out.shape += " small scales";
  out.tensors[kWeights].fill = uniform(-1e-5, 1e-5);
  out.tolerance = {1e-12, 1e-5, 1e-11 * 512};
  out.ledger = "D19";
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) { return matmul(c.encoder, {c[0], c[1], c[2]}); };
  const std::pair<Dtype, Shape> weights = {kQ4_0, {4, 64}}, input = {kF32, {2, 64}},
                                output = {kF32, {2, 4}};
  return {
      {"input of another width",
       {weights, {kF32, {2, 32}}, output},
       call,
       kShapeMismatch,
       "matmul: input has rows of 32 elements, shape [2, 32], expected 64"},
      {"output too short",
       {weights, input, {kF32, {2, 3}}},
       call,
       kShapeMismatch,
       "matmul: output has 6 elements, shape [2, 3], expected 8"},
      {"input of another dtype",
       {weights, {kF16, {2, 64}}, output},
       call,
       kDtypeMismatch,
       "matmul: input is f16, expected f32"},
      {"weights of integers",
       {{kI32, {4, 64}}, input, output},
       call,
       kDtypeMismatch,
       "matmul_4: weights of i32, expected a float or block format"},
      {"weights of one dimension",
       {{kQ4_0, {256}}, input, output},
       call,
       kShapeMismatch,
       "matmul: weights has shape [256], expected two dimensions"},
      {"rows that split a block",
       {{kQ4_0, {4, 40}}, {kF32, {2, 40}}, output},
       call,
       kShapeMismatch,
       "matmul: weights has rows of 40 elements, expected a multiple of 32"},
      {"output is the input",
       {{kF32, {8, 8}}, {kF32, {2, 8}}},
       [](const Call& c) { return matmul(c.encoder, {c[0], c[1], c[1]}); },
       kInvalidArgument,
       "matmul: output and input share memory, expected none in common"},
  };
}

}  // namespace

std::vector<OpCases> matmul_cases() {
  OpCases out = {"matmul", "mlxn/ops/matmul/matmul.h", "x wᵀ", {}, wrong_calls()};
  for (Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements;
    const uint64_t deep = block > 32 ? 1024 : 576, shallow = block;
    for (const Sizes& s :
         {Sizes{1, 33, deep}, Sizes{1, 1, shallow}, Sizes{2, 7, deep + block}, Sizes{4, 8, 512},
          Sizes{5, 9, 2 * deep}, Sizes{8, 12, deep}, Sizes{9, 6, deep}, Sizes{35, 67, deep}}) {
      out.cases.push_back(make_case(format, s, Use::kTest));
    }
  }
  for (Dtype format : {kQ4_0, kQ4_K}) out.cases.push_back(small_scales(format));
  for (uint64_t k : {1u, 3u, 17u, 31u, 33u, 100u, 515u, 1100u}) {
    out.cases.push_back(make_case(kF32, {3, 5, k}, Use::kTest));
    out.cases.push_back(make_case(kF16, {9, 5, k}, Use::kTest));
  }
  for (Dtype format : kWeightFormats) {
    for (uint64_t m : {1u, 4u, 8u}) {
      out.cases.push_back(make_case(format, {m, 256, 1536}, Use::kBench));
    }
  }
  for (const Sizes& s : {Sizes{1, 576, 576}, Sizes{1, 1536, 576}, Sizes{1, 576, 1536},
                         Sizes{1, 49152, 576}, Sizes{512, 1536, 576}, Sizes{512, 576, 1536}}) {
    out.cases.push_back(make_case(kQ4_1, s, Use::kBench));
  }
  for (const Sizes& s : {Sizes{1, 4096, 4096}, Sizes{1, 14336, 4096}, Sizes{64, 4096, 4096}}) {
    out.cases.push_back(make_case(kQ4_0, s, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
