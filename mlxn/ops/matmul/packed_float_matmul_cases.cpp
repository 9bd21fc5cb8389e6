#include "mlxn/base/strings.h"
#include "mlxn/ops/matmul/packed_float_matmul.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/packed_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t m, n, k;
};

enum { kWeights, kInput, kOutput };

void reference(Values& v, Dtype format, const Sizes& s) {
  const auto weights = unpacked(format, s.n, s.k, v[kWeights]);
  for (uint64_t m = 0; m < s.m; ++m) {
    for (uint64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (uint64_t k = 0; k < s.k; ++k) sum += v[kInput][m * s.k + k] * weights[n * s.k + k];
      v[kOutput][m * s.n + n] = sum;
    }
  }
}

OpCase make_case(Dtype format, Sizes s, Use use) {
  return {.variant = text(format),
          .shape = str(s.m, "x", s.n, "x", s.k),
          .tensors = {packed_weights(format, s.n, s.k),
                      {kF32, {s.m, s.k}},
                      {kF32, {s.m, s.n}, Role::kOut}},
          .encode =
              [=](const Call& c) {
                return packed_float_matmul(
                    c.encoder,
                    {packed_argument(c[kWeights], format, s.n, s.k), c[kInput], c[kOutput]});
              },
          .reference = [=](Values& v) { reference(v, format, s); },
          .tolerance = {1e-12, 1e-5, 1e-6 * double(s.k)},
          .flops = 2 * s.m * s.n * s.k,
          .use = use};
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call_as = [](Dtype format) {
    return [=](const Call& c) {
      return packed_float_matmul(c.encoder, {packed_argument(c[0], format, 4, 64), c[1], c[2]});
    };
  };
  // 16 rows of 64 elements, two in a word.
  const std::pair<Dtype, Shape> weights = {kU32, {512}}, input = {kF32, {2, 64}},
                                output = {kF32, {2, 4}};
  return {
      {"weights of another size",
       {{kU32, {511}}, input, output},
       call_as(kF16),
       kShapeMismatch,
       "packed_float_matmul: weights has 511 elements, shape [511], expected 512"},
      {"weights of blocks",
       {weights, input, output},
       call_as(kQ8_0),
       kUnsupported,
       "packed_float_matmul: weights are q8_0, expected f32, f16 or bf16"},
      {"input of another depth",
       {weights, {kF32, {4, 32}}, output},
       call_as(kF16),
       kShapeMismatch,
       "packed_float_matmul: input has rows of 32 elements, shape [4, 32], expected 64"},
      {"input of another dtype",
       {weights, {kF16, {2, 64}}, output},
       call_as(kBf16),
       kDtypeMismatch,
       "packed_float_matmul: input is f16, expected f32"},
      {"output of another size",
       {weights, input, {kF32, {2, 3}}},
       call_as(kF16),
       kShapeMismatch,
       "packed_float_matmul: output has 6 elements, shape [2, 3], expected 8"},
      {"output is the input",
       {{kU32, {2048}}, {kF32, {2, 64}}},
       [](const Call& c) {
         return packed_float_matmul(c.encoder, {packed_argument(c[0], kF16, 64, 64), c[1], c[1]});
       },
       kInvalidArgument,
       "packed_float_matmul: output and input share memory, expected none in common"},
  };
}

}  // namespace

std::vector<OpCases> packed_float_matmul_cases() {
  OpCases out = {
      "packed_float_matmul", "mlxn/ops/matmul/packed_float_matmul.h", "x wᵀ", {}, wrong_calls()};
  for (Dtype format : kFloats) {
    // Rows of whole pieces of 32, with some left over, and of less than one.
    for (const Sizes& s :
         {Sizes{1, 33, 576}, Sizes{1, 1, 1}, Sizes{1, 16, 32}, Sizes{1, 17, 259}, Sizes{2, 7, 608},
          Sizes{3, 16, 100}, Sizes{4, 64, 128}, Sizes{5, 65, 576}, Sizes{8, 12, 95},
          Sizes{9, 17, 31}, Sizes{16, 31, 576}, Sizes{17, 113, 33}, Sizes{35, 67, 610}}) {
      out.cases.push_back(make_case(format, s, Use::kTest));
    }
    for (uint64_t m : {1u, 4u, 8u, 16u, 512u})
      out.cases.push_back(make_case(format, {m, 1536, 1536}, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
