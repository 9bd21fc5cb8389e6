#include "mlxn/ops/matmul/matmul_id.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  Dtype weights;
  uint64_t experts, tokens, slots, n, k;
  bool scratch = true;
  bool own_rows = false;  // of the input, for each slot
  bool gated = false, bias = false;
  uint64_t ids_up_to = 0;  // not 0: ids from 0 to this one, which may be no expert
  Dtype input = kF32, output = kF32;
};

enum { kWeights, kInput, kIds, kOutput, kScratch, kUp, kBias };

void reference(Values& v, const Setup& s) {
  for (uint64_t r = 0; r < s.tokens * s.slots; ++r) {
    const auto expert = static_cast<uint64_t>(v[kIds][r]);
    const uint64_t row = s.own_rows ? r : r / s.slots;
    for (uint64_t n = 0; n < s.n && expert < s.experts; ++n) {
      double sum = s.bias ? v[kBias][expert * s.n + n] : 0;
      for (uint64_t k = 0; k < s.k; ++k) {
        double x = v[kInput][row * s.k + k];
        if (s.gated) x *= v[kUp][row * s.k + k] / (1 + std::exp(-x));
        sum += x * v[kWeights][(expert * s.n + n) * s.k + k];
      }
      v[kOutput][r * s.n + n] = sum;
    }
  }
}

OpCase make_case(const Setup& s, Use use = Use::kTest, std::string ledger = {}) {
  const Shape rows = {s.tokens, s.slots};
  const Shape input = s.own_rows ? Shape{s.tokens, s.slots, s.k} : Shape{s.tokens, s.k};
  const double exact = precision(s.output);
  OpCase out = {
      .variant = text(s.weights),
      .shape = str(s.tokens, "x", s.slots, " of ", s.experts, "x", s.n, "x", s.k,
                   s.scratch ? "" : " one by one", s.own_rows ? " rows of slots" : "",
                   s.gated ? " gated" : "", s.bias ? " bias" : "",
                   s.ids_up_to ? str(" ids to ", s.ids_up_to) : "", " ", text(s.input), " to ",
                   text(s.output)),
      .tensors = {{s.weights, {s.experts, s.n, s.k}, Role::kIn, uniform(-1, 1), {.sizes = {0}}},
                  {s.input, input},
                  {kU32, rows, Role::kIn, integers(0, s.ids_up_to ? s.ids_up_to : s.experts - 1)},
                  {s.output, {s.tokens, s.slots, s.n}, Role::kOut}},
      .encode =
          [s](const Call& c) {
            return matmul_id(c.encoder, {.weights = c[kWeights],
                                         .input = c[kInput],
                                         .ids = c[kIds],
                                         .output = c[kOutput],
                                         .up = s.gated ? &c[kUp] : nullptr,
                                         .bias = s.bias ? &c[kBias] : nullptr,
                                         .scratch = s.scratch ? &c[kScratch] : nullptr});
          },
      .reference = [s](Values& v) { reference(v, s); },
      .tolerance = {1e-12 + exact * exact / 4, 2e-5 + exact / 2, 2e-6 * double(s.k)},
      .flops = 2 * s.tokens * s.slots * s.n * s.k,
      .use = use,
      .ledger = std::move(ledger)};
  return out;
}

// Tensors that an op may go without stand at the end; what the op writes into the scratch is its
// own matter, so the reference says the same.
void add_optional(OpCase& out, const Setup& s) {
  const Shape input = out.tensors[kInput].shape;
  out.tensors.push_back(
      {kU32, {s.tokens, s.slots}, Role::kInOut, integers(0, 0), {.all = !s.scratch}});
  out.tensors.push_back({s.input, input, Role::kIn, uniform(-2, 2), {.all = !s.gated}});
  out.tensors.push_back({kF32, {s.experts, s.n}, Role::kIn, uniform(-1, 1), {.all = !s.bias}});
  const auto plain = out.reference;
  out.reference = [s, plain](Values& v) {
    plain(v);
    if (!s.scratch || s.tokens * s.slots <= 2 * s.experts) return;
    uint64_t place = 0;
    for (uint64_t e = 0; e <= s.experts; ++e) {
      for (uint64_t r = 0; r < s.tokens * s.slots; ++r) {
        const auto id = std::min<uint64_t>(s.experts, static_cast<uint64_t>(v[kIds][r]));
        if (id == e) v[kScratch][place++] = double(r);
      }
    }
  };
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, Use::kTest, ledger));
    add_optional(out.back(), s);
  };
  for (Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements, k = block > 1 ? block : 45;
    add({.weights = format, .experts = 4, .tokens = 3, .slots = 2, .n = 6, .k = k});
    add({.weights = format, .experts = 3, .tokens = 17, .slots = 2, .n = 5, .k = k});
    add({.weights = format,
         .experts = 4,
         .tokens = 2,
         .slots = 4,
         .n = 7,
         .k = 2 * k,
         .own_rows = true,
         .gated = true});
  }
  add({.weights = kQ4_0,
       .experts = 8,
       .tokens = 1,
       .slots = 8,
       .n = 12,
       .k = 256,
       .own_rows = true,
       .gated = true});
  add({.weights = kQ4_0,
       .experts = 2,
       .tokens = 9,
       .slots = 3,
       .n = 5,
       .k = 2112,
       .gated = true,
       .bias = true,
       .input = kF16,
       .output = kF16});
  add({.weights = kF32,
       .experts = 3,
       .tokens = 40,
       .slots = 1,
       .n = 3,
       .k = 600,
       .bias = true,
       .ids_up_to = 4},
      "D20");
  add({.weights = kQ8_0,
       .experts = 3,
       .tokens = 5,
       .slots = 2,
       .n = 3,
       .k = 64,
       .scratch = false,
       .ids_up_to = 4},
      "D20");
  // The same expert in several slots, and one expert alone.
  add({.weights = kQ4_K, .experts = 2, .tokens = 6, .slots = 5, .n = 4, .k = 256}, "D20");
  add({.weights = kQ8_0, .experts = 1, .tokens = 7, .slots = 3, .n = 4, .k = 32}, "D20");
  // More experts than a threadgroup has threads, most of them without tokens.
  add({.weights = kF16, .experts = 1500, .tokens = 40, .slots = 2, .n = 2, .k = 3}, "D20");
  add({.weights = kF16, .experts = 1100, .tokens = 400, .slots = 6, .n = 2, .k = 3}, "D20");
  // More rows than 16 bits count.
  add({.weights = kQ8_0, .experts = 3, .tokens = 32900, .slots = 1, .n = 1, .k = 32}, "D21");
  add({.weights = kBf16,
       .experts = 5,
       .tokens = 4110,
       .slots = 8,
       .n = 1,
       .k = 5,
       .own_rows = true},
      "D21");
  for (uint64_t slots : {1u, 2u, 3u, 5u, 6u, 7u, 10u, 16u, 22u}) {
    add({.weights = kQ4_0,
         .experts = 4,
         .tokens = 8,
         .slots = slots,
         .n = 3,
         .k = 64,
         .input = kBf16});
  }
  for (uint64_t tokens : {1u, 2u, 4u, 7u, 8u, 9u, 33u}) {
    add({.weights = kQ6_K,
         .experts = 2,
         .tokens = tokens,
         .slots = 2,
         .n = 9,
         .k = 256,
         .output = kBf16});
  }
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto plain = [](const Call& c) { return matmul_id(c.encoder, {c[0], c[1], c[2], c[3]}); };
  const std::pair<Dtype, Shape> weights = {kQ4_0, {2, 3, 64}}, input = {kF32, {4, 64}},
                                ids = {kU32, {4, 2}}, output = {kF32, {4, 2, 3}};
  return {
      {"ids of one dimension",
       {weights, input, {kU32, {8}}, output},
       plain,
       kShapeMismatch,
       "matmul_id: ids has shape [8], expected [tokens, slots]"},
      {"weights without experts",
       {{kQ4_0, {6, 64}}, input, ids, output},
       plain,
       kShapeMismatch,
       "matmul_id: weights has shape [6, 64], expected [experts, n, k] with k a multiple of 32"},
      {"rows of another width",
       {weights, {kF32, {4, 32}}, ids, output},
       plain,
       kShapeMismatch,
       "matmul_id: input has 128 elements, shape [4, 32], expected 256"},
      {"ids with a sign",
       {weights, input, {kI32, {4, 2}}, output},
       plain,
       kDtypeMismatch,
       "matmul_id: ids is i32, expected u32"},
      {"scratch that is too short",
       {weights, input, ids, output, {kU32, {4, 1}}},
       [](const Call& c) {
         return matmul_id(
             c.encoder,
             {.weights = c[0], .input = c[1], .ids = c[2], .output = c[3], .scratch = &c[4]});
       },
       kShapeMismatch,
       "matmul_id: scratch has 4 elements, shape [4, 1], expected 8"},
      {"scratch is the ids",
       {weights, input, ids, output},
       [](const Call& c) {
         return matmul_id(
             c.encoder,
             {.weights = c[0], .input = c[1], .ids = c[2], .output = c[3], .scratch = &c[2]});
       },
       kInvalidArgument,
       "matmul_id: output and ids share memory"},
  };
}

}  // namespace

std::vector<OpCases> matmul_id_cases() {
  OpCases out = {"matmul_id", "mlxn/ops/matmul/matmul_id.h", "x w[id]ᵀ", tests(), wrong_calls()};
  const auto bench = [&](const Setup& s) {
    out.cases.push_back(make_case(s, Use::kBench));
    add_optional(out.cases.back(), s);
  };
  bench({.weights = kQ4_0, .experts = 64, .tokens = 1, .slots = 8, .n = 512, .k = 2048});
  bench({.weights = kQ6_K, .experts = 64, .tokens = 1, .slots = 8, .n = 512, .k = 2048});
  bench({.weights = kQ4_0, .experts = 64, .tokens = 256, .slots = 8, .n = 128, .k = 2048});
  bench({.weights = kQ4_0,
         .experts = 64,
         .tokens = 1,
         .slots = 8,
         .n = 2048,
         .k = 512,
         .own_rows = true,
         .gated = true});
  for (OpCase& one : out.cases) {
    if (one.use == Use::kBench) one.bytes = one.flops / 2 * 18 / 32;
  }
  return {out};
}

}  // namespace mlxn::cases
