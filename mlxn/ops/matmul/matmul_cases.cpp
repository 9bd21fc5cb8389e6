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

struct Shapes {
  std::pair<Dtype, Shape> weights, input, output;
};

WrongCall wrong(std::string what, const Shapes& shapes, ErrorCode code, std::string message) {
  return {std::move(what),
          [=](const Device& device, ComputeEncoder& encoder) -> Status {
            MLXN_ASSIGN(const Buffer w, device.alloc(shapes.weights.first, shapes.weights.second));
            MLXN_ASSIGN(const Buffer x, device.alloc(shapes.input.first, shapes.input.second));
            MLXN_ASSIGN(const Buffer y, device.alloc(shapes.output.first, shapes.output.second));
            return matmul(encoder, {w, x, y});
          },
          code, std::move(message)};
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const Shapes right = {{kQ4_0, {4, 64}}, {kF32, {2, 64}}, {kF32, {2, 4}}};
  return {
      wrong("input of another width", {right.weights, {kF32, {2, 32}}, right.output},
            kShapeMismatch, "matmul: input has rows of 32 elements, shape [2, 32], expected 64"),
      wrong("output too short", {right.weights, right.input, {kF32, {2, 3}}}, kShapeMismatch,
            "matmul: output has 6 elements, shape [2, 3], expected 8"),
      wrong("input of another dtype", {right.weights, {kF16, {2, 64}}, right.output},
            kDtypeMismatch, "matmul: input is f16, expected f32"),
      wrong("weights of integers", {{kI32, {4, 64}}, right.input, right.output}, kDtypeMismatch,
            "matmul_4: weights of i32, expected a float or block format"),
      wrong("weights of one dimension", {{kQ4_0, {256}}, right.input, right.output}, kShapeMismatch,
            "matmul: weights has shape [256], expected two dimensions"),
      wrong("rows that split a block", {{kQ4_0, {4, 40}}, {kF32, {2, 40}}, right.output},
            kShapeMismatch, "matmul: weights has rows of 40 elements, expected a multiple of 32"),
      {"output is the input",
       [](const Device& device, ComputeEncoder& encoder) -> Status {
         MLXN_ASSIGN(const Buffer w, device.alloc(kF32, {8, 8}));
         MLXN_ASSIGN(const Buffer x, device.alloc(kF32, {2, 8}));
         return matmul(encoder, {w, x, x});
       },
       kInvalidArgument, "matmul: output and input share memory, expected none in common"},
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
