#include "mlxn/ops/matmul/affine_matmul.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint32_t bits, group;
  uint64_t m, n, k;
  Dtype scales = kBf16, input = kF32, output = kF32;
  uint64_t experts = 0, slots = 0;  // with ids: m tokens
  bool scratch = false;
  uint64_t ids_up_to = 0;
};

enum { kWeights, kScales, kBiases, kInput, kOutput, kIds, kScratch };

double code_at(const std::vector<double>& words, const Setup& s, uint64_t row, uint64_t k) {
  const uint64_t of_row = (s.k * s.bits + 31) / 32;
  uint64_t code = 0;
  for (uint32_t i = 0; i < s.bits; ++i) {
    const uint64_t bit = k * s.bits + i;
    const auto word = static_cast<uint64_t>(words[row * of_row + bit / 32]);
    code |= (word >> bit % 32 & 1) << i;
  }
  return double(code);
}

void reference(Values& v, const Setup& s) {
  const uint64_t slots = s.slots ? s.slots : 1, groups = (s.k + s.group - 1) / s.group;
  for (uint64_t r = 0; r < s.m * slots; ++r) {
    const uint64_t expert = s.experts ? static_cast<uint64_t>(v[kIds][r]) : 0;
    if (s.experts && expert >= s.experts) continue;
    for (uint64_t n = 0; n < s.n; ++n) {
      const uint64_t row = expert * s.n + n;
      double sum = 0;
      for (uint64_t k = 0; k < s.k; ++k) {
        const uint64_t g = row * groups + k / s.group;
        const double weight = v[kScales][g] * code_at(v[kWeights], s, row, k) + v[kBiases][g];
        sum += weight * v[kInput][r / slots * s.k + k];
      }
      v[kOutput][r * s.n + n] = sum;
    }
  }
}

OpCase make_case(const Setup& s, Use use = Use::kTest, std::string ledger = {}) {
  const uint64_t words = (s.k * s.bits + 31) / 32, groups = (s.k + s.group - 1) / s.group;
  const bool routed = s.experts != 0;
  const auto shape = [&](uint64_t last) {
    return routed ? Shape{s.experts, s.n, last} : Shape{s.n, last};
  };
  const double exact = precision(s.output), top = 1.0 / (1u << (s.bits - 1));
  OpCase out = {
      .variant = str(s.bits, " bits", routed ? " ids" : ""),
      .shape = str(s.m, routed ? str("x", s.slots, " of ", s.experts) : "", "x", s.n, "x", s.k,
                   " groups of ", s.group, " ", text(s.scales), ", ", text(s.input), " to ",
                   text(s.output), s.scratch ? " ordered" : ""),
      .tensors = {{kU32, shape(words), Role::kIn, integers(0, UINT32_MAX)},
                  {s.scales, shape(groups), Role::kIn, uniform(top / 4, top)},
                  {s.scales, shape(groups), Role::kIn, uniform(-1, 0)},
                  // As many words hold rows that are a little longer.
                  {s.input, {s.m, s.k}, Role::kIn, uniform(-2, 2), {.sizes = {1}}},
                  {s.output, routed ? Shape{s.m, s.slots, s.n} : Shape{s.m, s.n}, Role::kOut}},
      .encode =
          [s](const Call& c) {
            return affine_matmul(c.encoder, {.weights = c[kWeights],
                                             .scales = c[kScales],
                                             .biases = c[kBiases],
                                             .input = c[kInput],
                                             .output = c[kOutput],
                                             .bits = s.bits,
                                             .group_size = s.group,
                                             .ids = s.experts ? &c[kIds] : nullptr,
                                             .scratch = s.scratch ? &c[kScratch] : nullptr});
          },
      .reference = [s](Values& v) { reference(v, s); },
      .tolerance = {1e-12 + exact * exact / 4, 1e-5 + exact / 2, 1e-6 * double(s.k)},
      .flops = 2 * s.m * (routed ? s.slots : 1) * s.n * s.k,
      .use = use,
      .ledger = std::move(ledger)};
  if (routed) {
    out.tensors.push_back(
        {kU32, {s.m, s.slots}, Role::kIn, integers(0, s.ids_up_to ? s.ids_up_to : s.experts - 1)});
  }
  return out;
}

// What the op leaves in the scratch.
void add_scratch(OpCase& out, const Setup& s) {
  out.tensors.push_back({kU32, {s.m, s.slots}, Role::kInOut, integers(0, 0)});
  out.reference = [s](Values& v) {
    reference(v, s);
    uint64_t place = 0;
    for (uint64_t e = 0; e <= s.experts; ++e) {
      for (uint64_t r = 0; r < s.m * s.slots; ++r) {
        if (std::min(uint64_t(v[kIds][r]), s.experts) == e) v[kScratch][place++] = double(r);
      }
    }
  };
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, Use::kTest, ledger));
    if (s.scratch) add_scratch(out.back(), s);
  };
  for (uint32_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    for (Dtype scales : kFloats) add({bits, 64, 1, 5, 192, scales}, "D24");
    for (uint32_t group : {32u, 64u, 128u}) add({bits, group, 9, 6, 256, kF16}, "D18");
    add({bits, 32, 2, 3, 3008});
    add({.bits = bits, .group = 64, .m = 3, .n = 4, .k = 640, .input = kF16, .output = kF16});
    add({.bits = bits, .group = 64, .m = 1, .n = 8, .k = 512, .input = kBf16, .output = kBf16});
    for (uint64_t k : {1u, 7u, 33u, 95u, 100u}) add({bits, 64, 2, 3, k});
    add({.bits = bits, .group = 32, .m = 4, .n = 5, .k = 96, .experts = 8, .slots = 2});
    add({.bits = bits,
         .group = 64,
         .m = 13,
         .n = 5,
         .k = 96,
         .experts = 3,
         .slots = 2,
         .scratch = true,
         .ids_up_to = 4},
        "D20");
  }
  add({.bits = 4, .group = 64, .m = 33000, .n = 1, .k = 8}, "D21");
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto with = [](uint32_t bits, uint32_t group) {
    return [=](const Call& c) {
      return affine_matmul(c.encoder, {c[0], c[1], c[2], c[3], c[4], bits, group});
    };
  };
  const std::pair<Dtype, Shape> weights = {kU32, {3, 16}}, scales = {kBf16, {3, 2}},
                                input = {kF32, {2, 128}}, output = {kF32, {2, 3}};
  return {
      {"seven bits",
       {weights, scales, scales, input, output},
       with(7, 64),
       kInvalidArgument,
       "affine_matmul: 7 bits in groups of 64, expected 2, 3, 4, 5, 6 or 8 in groups of a multiple "
       "of 32"},
      {"groups of 48",
       {weights, scales, scales, input, output},
       with(4, 48),
       kInvalidArgument,
       "affine_matmul: 4 bits in groups of 48"},
      {"no groups",
       {weights, scales, scales, input, output},
       with(4, 0),
       kInvalidArgument,
       "affine_matmul: 4 bits in groups of 0"},
      {"words of other codes",
       {weights, scales, scales, input, output},
       with(8, 64),
       kShapeMismatch,
       "affine_matmul: weights has shape [3, 16], expected [n, 32] for rows of 128 elements of 8 "
       "bits"},
      {"too few scales",
       {weights, scales, scales, input, output},
       with(4, 32),
       kShapeMismatch,
       "affine_matmul: scales has 6 elements, shape [3, 2], expected 12"},
      {"scales of integers",
       {weights, {kU16, {3, 2}}, {kU16, {3, 2}}, input, output},
       with(4, 64),
       kDtypeMismatch,
       "affine_matmul: scales is u16, expected f32, f16 or bf16"},
      {"up without ids",
       {weights, scales, scales, input, output},
       [](const Call& c) {
         return affine_matmul(c.encoder, {.weights = c[0],
                                          .scales = c[1],
                                          .biases = c[2],
                                          .input = c[3],
                                          .output = c[4],
                                          .up = &c[3]});
       },
       kInvalidArgument,
       "affine_matmul: up without ids, expected both"},
  };
}

}  // namespace

std::vector<OpCases> affine_matmul_cases() {
  OpCases out = {"affine_matmul", "mlxn/ops/matmul/affine_matmul.h", "x (s q + b)ᵀ", tests(),
                 wrong_calls()};
  for (uint32_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
    out.cases.push_back(make_case({bits, 64, 1, 4096, 2816}, Use::kBench));
  }
  out.cases.push_back(make_case({4, 64, 64, 4096, 2816}, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
