#include "mlxn/ops/matmul/packed_matmul.h"

#include "mlxn/base/strings.h"
#include "mlxn/quant/pack_rows.h"
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
  const auto input = rounded_values(v[kInput], s.m, s.k);
  for (uint64_t m = 0; m < s.m; ++m) {
    for (uint64_t n = 0; n < s.n; ++n) {
      double sum = 0;
      for (uint64_t k = 0; k < s.k; ++k) sum += input[m * s.k + k] * weights[n * s.k + k];
      v[kOutput][m * s.n + n] = sum;
    }
  }
}

OpCase make_case(Dtype format, Sizes s, Use use) {
  return {.variant = text(format),
          .shape = str(s.m, "x", s.n, "x", s.k),
          .tensors = {packed_weights(format, s.n, s.k),
                      rounded_rows(s.m, s.k),
                      {kF32, {s.m, s.n}, Role::kOut}},
          .encode =
              [=](const Call& c) {
                return packed_matmul(c.encoder, {packed_argument(c[kWeights], format, s.n, s.k),
                                                 c[kInput], c[kOutput]});
              },
          .reference = [=](Values& v) { reference(v, format, s); },
          .tolerance = {1e-10, 1e-5, 1e-6 * double(s.k)},
          .flops = 2 * s.m * s.n * s.k,
          .use = use};
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return packed_matmul(c.encoder, {packed_argument(c[0], kQ4_0, 4, 64), c[1], c[2]});
  };
  // 16 rows of 64 elements: 64 bytes of scales and 512 of codes.
  const std::pair<Dtype, Shape> weights = {kU32, {144}}, input = {kI32, {1, 2, 4, 12}},
                                output = {kF32, {2, 4}};
  return {
      {"weights of another size",
       {{kU32, {143}}, input, output},
       call,
       kShapeMismatch,
       "packed_matmul: weights has 143 elements, shape [143], expected 144"},
      {"a format that is not packed",
       {weights, input, output},
       [](const Call& c) {
         return packed_matmul(c.encoder, {packed_argument(c[0], kQ2_K, 4, 256), c[1], c[2]});
       },
       kUnsupported,
       "packed_matmul: weights of q2_k cannot be packed"},
      {"weights of floats",
       {weights, input, output},
       [](const Call& c) {
         return packed_matmul(c.encoder, {packed_argument(c[0], kF16, 4, 64), c[1], c[2]});
       },
       kUnsupported,
       "packed_matmul: weights are f16, expected a block format"},
      {"input of another depth",
       {weights, {kI32, {1, 3, 4, 12}}, output},
       call,
       kShapeMismatch,
       "packed_matmul: input has 144 elements, shape [1, 3, 4, 12], expected 96"},
      {"input of another tile",
       {weights, {kI32, {4, 2, 1, 12}}, output},
       call,
       kShapeMismatch,
       "packed_matmul: input has shape [4, 2, 1, 12], expected [1, 2, 4, 12]"},
      {"input that is not rounded",
       {weights, {kF32, {2, 64}}, output},
       call,
       kDtypeMismatch,
       "packed_matmul: input is f32, expected i32"},
      {"output of another width",
       {weights, input, {kF32, {2, 3}}},
       call,
       kShapeMismatch,
       "packed_matmul: output has rows of 3 elements, shape [2, 3], expected 4"},
  };
}

}  // namespace

std::vector<OpCases> packed_matmul_cases() {
  OpCases out = {
      "packed_matmul", "mlxn/ops/matmul/packed_matmul.h", "round(x) wᵀ", {}, wrong_calls()};
  for (Dtype format : kWeightFormats) {
    if (!quant::can_pack(format) || info(format).is_float) continue;
    const uint64_t block = info(format).block_elements;
    const uint64_t deep = block > 32 ? 1024 : 576;
    for (const Sizes& s :
         {Sizes{1, 33, deep}, Sizes{1, 1, block}, Sizes{2, 7, deep + block},
          Sizes{3, 16, 2 * block}, Sizes{4, 64, deep}, Sizes{5, 65, deep}, Sizes{8, 12, 3 * block},
          Sizes{9, 17, deep}, Sizes{16, 31, deep}, Sizes{17, 113, block}, Sizes{35, 67, deep}}) {
      out.cases.push_back(make_case(format, s, Use::kTest));
    }
    for (uint64_t m : {1u, 4u, 8u, 16u, 512u})
      out.cases.push_back(make_case(format, {m, 1536, 1536}, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
