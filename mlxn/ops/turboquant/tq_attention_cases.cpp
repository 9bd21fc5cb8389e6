#include "mlxn/ops/turboquant/tq_attention.h"

#include <algorithm>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/tq_cases.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t heads, kv_heads, dim, keys, capacity;
};

struct Setup {
  uint32_t bits;
  Sizes sizes;
  uint64_t ring_start = 0, window = 0;
  float scale = 0, soft_cap = 0, scale_factor = 1;
  Dtype type = kF32;  // of queries and output
};

enum { kQueries, kKeyCodes, kKeyNorms, kValueCodes, kValueNorms, kOutput };

bool seen(const Setup& s, uint64_t row) {
  const auto& [heads, kv_heads, dim, keys, capacity] = s.sizes;
  const uint64_t age = (row + capacity - s.ring_start) % capacity;
  return age < keys && (s.window == 0 || s.window >= keys || age >= keys - s.window);
}

void reference(Values& v, const Setup& s) {
  const auto& [heads, kv_heads, dim, keys, capacity] = s.sizes;
  const double factor = s.scale_factor < 1e-6f ? 1 : double(s.scale_factor);
  const double scale = s.scale != 0 ? double(s.scale) : 1 / std::sqrt(double(dim));
  for (uint64_t h = 0; h < heads; ++h) {
    const uint64_t first = h / (heads / kv_heads) * capacity;
    std::vector<double> scores(keys, -INFINITY);
    for (uint64_t k = 0; k < keys; ++k) {
      if (!seen(s, k)) continue;
      double score = 0;
      for (uint64_t d = 0; d < dim; ++d) {
        score += v[kQueries][h * dim + d] *
                 tq_value(v[kKeyCodes], v[kKeyNorms], first + k, d, dim, s.bits, factor);
      }
      score *= scale;
      scores[k] =
          s.soft_cap > 0 ? double(s.soft_cap) * std::tanh(score / double(s.soft_cap)) : score;
    }
    const double most = *std::ranges::max_element(scores);
    double total = 0;
    for (double& score : scores) total += score = most == -INFINITY ? 0 : std::exp(score - most);
    for (uint64_t k = 0; k < keys; ++k) {
      for (uint64_t d = 0; d < dim && scores[k] != 0; ++d) {
        v[kOutput][h * dim + d] +=
            scores[k] / total *
            tq_value(v[kValueCodes], v[kValueNorms], first + k, d, dim, s.bits, factor);
      }
    }
  }
}

// Norms of rows about sqrt(dim), or 1 where a row has two; behind the last key they are NaN.
Fill norms(const Setup& s) {
  return [=](Random& random, std::span<double> values) {
    const auto& [heads, kv_heads, dim, keys, capacity] = s.sizes;
    const double typical = dim == 512 ? double(s.scale_factor) : std::sqrt(double(dim));
    uniform(typical / 2, typical)(random, values);
    const uint64_t each = dim == 512 ? 2 : 1;
    for (uint64_t i = 0; i < values.size(); ++i) {
      if (i / each % capacity >= keys) values[i] = NAN;
    }
  };
}

std::string name_of(const Setup& s) {
  const auto& [heads, kv_heads, dim, keys, capacity] = s.sizes;
  return str(heads, "/", kv_heads, "x", dim, " of ", keys, " in ", capacity,
             s.ring_start ? str(" from ", s.ring_start) : "",
             s.window ? str(" window ", s.window) : "", s.scale != 0 ? " scaled" : "",
             s.soft_cap > 0 ? " cap" : "",
             s.scale_factor != 1 ? str(" times ", s.scale_factor) : "", " ", text(s.type));
}

OpCase make_case(const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const auto& [heads, kv_heads, dim, keys, capacity] = s.sizes;
  const Shape codes = {kv_heads, capacity, s.bits == 4 ? dim / 2 : dim},
              of_rows = {kv_heads, capacity, dim == 512 ? 2u : 1u};
  const double exact = precision(s.type);
  return {.variant = str(s.bits, " bits"),
          .shape = name_of(s),
          .tensors = {{s.type, {heads, dim}},
                      {kU8, codes, Role::kIn, integers(0, 255)},
                      {kF32, of_rows, Role::kIn, norms(s)},
                      {kU8, codes, Role::kIn, integers(0, 255)},
                      {kF32, of_rows, Role::kIn, norms(s)},
                      {s.type, {heads, dim}, Role::kOut}},
          .encode =
              [s](const Call& c) {
                return tq_attention(c.encoder, {.queries = c[kQueries],
                                                .key_codes = c[kKeyCodes],
                                                .key_norms = c[kKeyNorms],
                                                .value_codes = c[kValueCodes],
                                                .value_norms = c[kValueNorms],
                                                .output = c[kOutput],
                                                .bits = s.bits,
                                                .length = s.sizes.keys,
                                                .ring_start = s.ring_start,
                                                .window = s.window,
                                                .scale = s.scale,
                                                .soft_cap = s.soft_cap,
                                                .scale_factor = s.scale_factor});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .tolerance = {1e-11 + exact * exact / 4, 1e-5 + exact / 2, 1e-5 + exact / 64},
          .flops = 4 * heads * keys * dim,
          .bytes = 2 * kv_heads * keys * (s.bits == 4 ? dim / 2 : dim),
          .use = use,
          .ledger = std::move(ledger)};
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, ledger));
  };
  for (uint32_t bits : {4u, 5u, 6u, 8u}) {
    for (uint64_t dim : {64u, 128u, 256u, 512u}) {
      add({.bits = bits, .sizes = {2, 2, dim, 1, 1}});
      add({.bits = bits, .sizes = {6, 2, dim, 37, 40}}, "D9");
    }
    add({.bits = bits, .sizes = {8, 4, 256, 64, 64}, .window = 16, .type = kBf16});
    add({.bits = bits, .sizes = {4, 2, 512, 32, 32}, .scale_factor = 16});
    add({.bits = bits, .sizes = {1, 1, 512, 9, 9}, .scale_factor = 0}, "D10");
    add({.bits = bits, .sizes = {3, 1, 64, 300, 310}, .scale = 1, .soft_cap = 3, .type = kF16},
        "D5");
  }
  for (uint32_t bits : {4u, 8u}) {
    add({.bits = bits, .sizes = {10, 1, 128, 70, 70}});
    add({.bits = bits, .sizes = {32, 4, 64, 1024, 1024}});
    for (uint64_t start : {1u, 5u, 31u, 32u, 44u}) {
      add({.bits = bits, .sizes = {2, 1, 64, 45, 45}, .ring_start = start});
      add({.bits = bits, .sizes = {2, 2, 256, 45, 45}, .ring_start = start, .window = 7});
    }
    add({.bits = bits, .sizes = {2, 1, 64, 30, 45}, .ring_start = 10});  // not yet around
    for (uint64_t window : {1u, 44u, 45u, 100u}) {
      add({.bits = bits, .sizes = {2, 1, 64, 45, 50}, .window = window}, "D4");
    }
  }
  for (uint64_t heads : {1u, 2u}) {  // one long sum
    OpCase level = make_case({.bits = 8, .sizes = {heads, 1, 64, 2000, 2000}});
    level.shape += " level";
    level.tensors[kQueries].fill = uniform(-1e-3, 1e-3);
    level.tensors[kValueCodes].fill = integers(180, 255);
    out.push_back(level);
  }
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> queries = {kF32, {4, 64}}, codes = {kU8, {2, 8, 64}},
                                of_rows = {kF32, {2, 8, 1}};
  const std::vector<std::pair<Dtype, Shape>> all = {queries, codes,   of_rows,
                                                    codes,   of_rows, queries};
  const auto with = [](auto change) {
    return [change](const Call& c) {
      TqAttentionParams params = {c[0], c[1], c[2], c[3], c[4], c[5], 8};
      change(params);
      return tq_attention(c.encoder, params);
    };
  };
  return {
      {"seven bits", all, with([](TqAttentionParams& p) { p.bits = 7; }), kInvalidArgument,
       "tq_attention: 7 bits for heads of 64 elements"},
      {"codes of four bits", all, with([](TqAttentionParams& p) { p.bits = 4; }), kShapeMismatch,
       "tq_attention: key codes has 1024 elements, shape [2, 8, 64], expected 512"},
      {"more keys than rows", all, with([](TqAttentionParams& p) { p.length = 9; }), kOutOfRange,
       "tq_attention: 9 keys, the oldest in row 0, expected both within 8 rows"},
      {"a ring that begins outside", all, with([](TqAttentionParams& p) { p.ring_start = 8; }),
       kOutOfRange, "tq_attention: 8 keys, the oldest in row 8, expected both within 8 rows"},
      {"a negative cap", all, with([](TqAttentionParams& p) { p.soft_cap = -1; }), kInvalidArgument,
       "soft cap -1"},
      {"an infinite factor", all, with([](TqAttentionParams& p) { p.scale_factor = INFINITY; }),
       kInvalidArgument, "tq_attention: scale factor inf, expected a finite number"},
      {"heads that do not divide",
       {{kF32, {3, 64}}, codes, of_rows, codes, of_rows, {kF32, {3, 64}}},
       with([](TqAttentionParams&) {}),
       kShapeMismatch,
       "tq_attention: key codes has shape [2, 8, 64], expected three dimensions with heads that "
       "divide the 3 of queries"},
  };
}

}  // namespace

std::vector<OpCases> tq_attention_cases() {
  OpCases out = {"tq_attention", "mlxn/ops/turboquant/tq_attention.h", "softmax(q kᵀ) v", tests(),
                 wrong_calls()};
  for (uint32_t bits : {4u, 8u}) {
    out.cases.push_back(
        make_case({.bits = bits, .sizes = {16, 8, 256, 1024, 1024}}, "", Use::kBench));
    out.cases.push_back(
        make_case({.bits = bits, .sizes = {16, 2, 512, 2048, 2048}}, "", Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
