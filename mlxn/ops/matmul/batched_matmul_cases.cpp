#include "mlxn/ops/matmul/batched_matmul.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  Dtype weights, input, output;
  uint64_t slabs, batch, m, n, k;
  uint64_t heads = 0;  // not 0: heads first
  bool transposed = false, bias = false;
  float alpha = 1;
  bool positive = false;
};

enum { kWeights, kInput, kOutput, kBias };

// Where element k of a row lies in the input.
uint64_t input_at(const Setup& s, uint64_t b, uint64_t m, uint64_t k) {
  if (s.heads == 0) return (b * s.m + m) * s.k + k;
  const uint64_t dim = s.k / s.heads;
  return ((b * s.heads + k / dim) * s.m + m) * dim + k % dim;
}

void reference(Values& v, const Setup& s) {
  for (uint64_t i = 0; i < s.batch * s.m * s.n; ++i) {
    const uint64_t b = i / s.n / s.m, m = i / s.n % s.m, n = i % s.n;
    const uint64_t slab = b / (s.batch / s.slabs);
    double sum = 0;
    for (uint64_t k = 0; k < s.k; ++k) {
      const uint64_t w = s.transposed ? (slab * s.k + k) * s.n + n : (slab * s.n + n) * s.k + k;
      sum += v[kInput][input_at(s, b, m, k)] * v[kWeights][w];
    }
    v[kOutput][i] = double(s.alpha) * sum + (s.bias ? v[kBias][n] : 0);
  }
}

OpCase make_case(const Setup& s, Use use = Use::kTest, std::string ledger = {}) {
  const Shape weights = s.transposed ? Shape{s.slabs, s.k, s.n} : Shape{s.slabs, s.n, s.k};
  const Shape input =
      s.heads ? Shape{s.batch, s.heads, s.m, s.k / s.heads} : Shape{s.batch, s.m, s.k};
  const double low = s.positive ? 0.5 : -1, exact = precision(s.output);
  OpCase out = {
      .variant = text(s.weights) + (s.transposed ? " transposed" : ""),
      .shape = str(s.batch, "/", s.slabs, "x", s.m, "x", s.n, "x", s.k, " ", text(s.input), " to ",
                   text(s.output), s.heads ? str(" ", s.heads, " heads first") : "",
                   s.bias ? " bias" : "", s.alpha != 1 ? str(" times ", s.alpha) : "",
                   s.positive ? " positive" : ""),
      .tensors = {{s.weights, weights, Role::kIn, uniform(low, 1), {.sizes = {0}}},
                  {s.input, input, Role::kIn, uniform(low, 2)},
                  {s.output, {s.batch, s.m, s.n}, Role::kOut}},
      .encode =
          [s](const Call& c) {
            return batched_matmul(c.encoder, {.weights = c[kWeights],
                                              .input = c[kInput],
                                              .output = c[kOutput],
                                              .bias = s.bias ? &c[kBias] : nullptr,
                                              .alpha = s.alpha,
                                              .transposed = s.transposed,
                                              .heads_first = s.heads != 0});
          },
      .reference = [s](Values& v) { reference(v, s); },
      .tolerance = {1e-12 + exact * exact / 4, 1e-5 + exact / 2, 1e-6 * double(s.k)},
      .flops = 2 * s.batch * s.m * s.n * s.k,
      .use = use,
      .ledger = std::move(ledger)};
  if (s.slabs > 1) out.tensors[kInput].accepts.sizes = {};
  if (s.bias) out.tensors.push_back({kF32, {s.n}});
  return out;
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, Use::kTest, ledger));
  };
  for (Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements, k = block > 1 ? 2 * block : 70;
    add({format, kF32, kF32, 1, 1, 1, 5, block > 1 ? block : 33});
    add({format, kBf16, kF32, 2, 4, 3, 9, k});
    add({.weights = format,
         .input = kF16,
         .output = kF16,
         .slabs = 1,
         .batch = 1,
         .m = 9,
         .n = 6,
         .k = k,
         .bias = true});
    add({.weights = format,
         .input = kF32,
         .output = kF32,
         .slabs = 1,
         .batch = 1,
         .m = 2,
         .n = 3,
         .k = 2048,
         .positive = true});
  }
  for (Dtype weights : kFloats) {
    for (uint64_t k = 1; k <= 9; ++k)
      add({weights, weights, weights, 1, 1, 1 + k % 3, 3, k}, "D15");
    for (uint64_t k : {31u, 63u, 64u, 65u, 511u, 513u, 1100u}) {
      add({weights, kF32, kF32, 1, 2, 3, 5, k});
    }
    for (uint64_t k : {1u, 8u, 31u, 33u, 127u, 129u, 300u}) {
      add({.weights = weights,
           .input = kF32,
           .output = weights,
           .slabs = 1,
           .batch = 2,
           .m = 5,
           .n = 130,
           .k = k,
           .transposed = true});
    }
    add({.weights = weights,
         .input = kBf16,
         .output = kF32,
         .slabs = 2,
         .batch = 6,
         .m = 1,
         .n = 127,
         .k = 40,
         .transposed = true});
    add({.weights = weights,
         .input = kF32,
         .output = kF32,
         .slabs = 4,
         .batch = 4,
         .m = 1,
         .n = 33,
         .k = 2000,
         .transposed = true,
         .positive = true});
    add({.weights = weights,
         .input = kF32,
         .output = kF32,
         .slabs = 1,
         .batch = 1,
         .m = 11,
         .n = 7,
         .k = 2000,
         .transposed = true,
         .bias = true,
         .alpha = 0.125f,
         .positive = true});
    add({.weights = weights,
         .input = kF16,
         .output = kBf16,
         .slabs = 4,
         .batch = 8,
         .m = 6,
         .n = 10,
         .k = 72,
         .bias = true,
         .alpha = -3});
    add({weights, kF32, kF32, 4, 16, 8, 8, 64});
    add({weights, kF32, kF32, 3, 3, 1, 11, 100});
  }
  add({kF16, kF16, kF16, 1, 1, 2, 33000, 3}, "D16");
  add({kF16, kF16, kF16, 1, 1, 33000, 2, 3}, "D16");
  add({.weights = kBf16,
       .input = kF32,
       .output = kF32,
       .slabs = 1,
       .batch = 1,
       .m = 33000,
       .n = 2,
       .k = 3,
       .transposed = true},
      "D16");
  add({kBf16, kF32, kF32, 1, 1, 1, 7, 2816}, "D17");
  for (Dtype format : {kQ4_0, kQ6_K, kF16}) {
    add({.weights = format,
         .input = kBf16,
         .output = kF32,
         .slabs = 1,
         .batch = 1,
         .m = 11,
         .n = 5,
         .k = 256,
         .heads = 4});
    add({.weights = format,
         .input = kBf16,
         .output = kF32,
         .slabs = 1,
         .batch = 2,
         .m = 3,
         .n = 5,
         .k = 768,
         .heads = 8});
    add({.weights = format,
         .input = kF32,
         .output = kBf16,
         .slabs = 1,
         .batch = 1,
         .m = 1,
         .n = 4,
         .k = 256,
         .heads = 1});
  }
  add({.weights = kF32,
       .input = kF16,
       .output = kF32,
       .slabs = 1,
       .batch = 2,
       .m = 9,
       .n = 140,
       .k = 192,
       .heads = 2,
       .transposed = true});
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto plain = [](const Call& c) { return batched_matmul(c.encoder, {c[0], c[1], c[2]}); };
  const auto with = [](bool transposed, bool heads_first, float alpha) {
    return [=](const Call& c) {
      return batched_matmul(c.encoder, {.weights = c[0],
                                        .input = c[1],
                                        .output = c[2],
                                        .alpha = alpha,
                                        .transposed = transposed,
                                        .heads_first = heads_first});
    };
  };
  const std::pair<Dtype, Shape> weights = {kF16, {2, 3, 64}}, input = {kF32, {4, 5, 64}},
                                output = {kF32, {4, 5, 3}};
  return {
      {"a batch that slabs do not divide",
       {weights, {kF32, {3, 5, 64}}, {kF32, {3, 5, 3}}},
       plain,
       kShapeMismatch,
       "batched_matmul: input has shape [3, 5, 64], expected a batch that is a multiple of the 2 "
       "slabs of weights"},
      {"output of a row less",
       {weights, input, {kF32, {4, 4, 3}}},
       plain,
       kShapeMismatch,
       "batched_matmul: output has 48 elements, shape [4, 4, 3], expected 60"},
      {"input of integers",
       {weights, {kI32, {4, 5, 64}}, output},
       plain,
       kDtypeMismatch,
       "batched_matmul: input is i32, expected f32, f16 or bf16"},
      {"transposed blocks",
       {{kQ4_0, {2, 64, 32}}, {kF32, {4, 5, 64}}, {kF32, {4, 5, 32}}},
       with(true, false, 1),
       kDtypeMismatch,
       "batched_matmul: transposed weights of q4_0, expected f32, f16 or bf16"},
      {"heads of half a group",
       {weights, {kF32, {4, 4, 5, 16}}, output},
       with(false, true, 1),
       kShapeMismatch,
       "expected [batch, heads, rows, k / heads] with heads of a multiple of 32 elements for k = "
       "64"},
      {"alpha that is no number",
       {weights, input, output},
       with(false, false, NAN),
       kInvalidArgument,
       "batched_matmul: alpha nan, expected a finite number"},
      {"bias of another length",
       {weights, input, output, {kF32, {4}}},
       [](const Call& c) { return batched_matmul(c.encoder, {c[0], c[1], c[2], &c[3]}); },
       kShapeMismatch,
       "batched_matmul: bias has 4 elements, shape [4], expected 3"},
      {"output is the input",
       {{kF32, {1, 8, 8}}, {kF32, {1, 2, 8}}},
       [](const Call& c) { return batched_matmul(c.encoder, {c[0], c[1], c[1]}); },
       kInvalidArgument,
       "batched_matmul: output and input share memory"},
  };
}

}  // namespace

std::vector<OpCases> batched_matmul_cases() {
  OpCases out = {"batched_matmul", "mlxn/ops/matmul/batched_matmul.h", "alpha x wᵀ + b", tests(),
                 wrong_calls()};
  const auto bench = [&](const Setup& s) { out.cases.push_back(make_case(s, Use::kBench)); };
  for (Dtype dtype : kFloats) {
    bench({dtype, dtype, dtype, 1, 1, 1, 4096, 4096});
    bench({dtype, dtype, dtype, 1, 1, 128, 1024, 1024});
  }
  bench({kQ4_0, kBf16, kF32, 1, 1, 64, 4096, 4096, 32});
  bench({kF16, kF32, kF32, 8, 16, 128, 128, 128});
  bench({.weights = kF16,
         .input = kF32,
         .output = kF32,
         .slabs = 8,
         .batch = 16,
         .m = 128,
         .n = 128,
         .k = 512,
         .transposed = true});
  return {out};
}

}  // namespace mlxn::cases
