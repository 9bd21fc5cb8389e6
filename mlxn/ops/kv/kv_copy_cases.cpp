#include "mlxn/ops/kv/kv_copy.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  Dtype from, to;
  uint64_t tokens, heads, dim, capacity;
};

struct Setup {
  Sizes sizes;
  uint64_t position = 0, first = 0, count = 0;
  bool ring = false, tokens_first = false;
  uint64_t value_dim = 0;
  std::string what = {};
};

enum { kKeys, kValues, kKeyCache, kValueCache };

// A row of 32 elements as its codes say.
void to_codes(std::vector<double>& values, uint64_t at) {
  double largest = 0;
  for (uint64_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(values[at + i]));
  const double scale = rounded(kF16, largest / 127);
  for (uint64_t i = 0; i < 32; ++i) {
    values[at + i] = largest == 0 ? 0 : std::round(values[at + i] * 127 / largest) * scale;
  }
}

void reference(Values& v, const Setup& s) {
  const uint64_t count = s.count ? s.count : s.sizes.tokens - s.first;
  for (uint64_t i = 0; i < 2 * count * s.sizes.heads; ++i) {
    const bool is_value = i % 2;
    const uint64_t t = i / 2 / s.sizes.heads, h = i / 2 % s.sizes.heads;
    const uint64_t dim = is_value && s.value_dim ? s.value_dim : s.sizes.dim;
    const uint64_t row = (s.position + t) % s.sizes.capacity;
    const uint64_t from = ((s.first + t) * s.sizes.heads + h) * dim;
    const uint64_t to =
        (s.tokens_first ? row * s.sizes.heads + h : h * s.sizes.capacity + row) * dim;
    std::vector<double>& cache = v[is_value ? kValueCache : kKeyCache];
    for (uint64_t d = 0; d < dim; ++d) cache[to + d] = v[is_value ? kValues : kKeys][from + d];
    for (uint64_t d = 0; d < dim && s.sizes.to == kQ8_0; d += 32) to_codes(cache, to + d);
  }
}

OpCase make_case(const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const uint64_t value_dim = s.value_dim ? s.value_dim : s.sizes.dim;
  const auto cache = [&](uint64_t dim) {
    return s.tokens_first ? Shape{s.sizes.capacity, s.sizes.heads, dim}
                          : Shape{s.sizes.heads, s.sizes.capacity, dim};
  };
  const uint64_t count = s.count ? s.count : s.sizes.tokens - s.first;
  OpCase out = {
      .variant = str(text(s.sizes.from), " to ", text(s.sizes.to)),
      .shape = str(s.sizes.tokens, "x", s.sizes.heads, "x", s.sizes.dim,
                   s.value_dim ? str("/", s.value_dim) : "", " into ", s.sizes.capacity,
                   s.tokens_first ? " tokens first" : "", s.ring ? " ring" : "", " at ", s.position,
                   s.first || s.count ? str(" from ", s.first, " on ", count) : "", s.what),
      .tensors = {{s.sizes.from, {s.sizes.tokens, s.sizes.heads, s.sizes.dim}},
                  {s.sizes.from, {s.sizes.tokens, s.sizes.heads, value_dim}},
                  {s.sizes.to, cache(s.sizes.dim), Role::kInOut},
                  {s.sizes.to, cache(value_dim), Role::kInOut}},
      .encode =
          [s](const Call& c) {
            return kv_copy(c.encoder, {.keys = c[kKeys],
                                       .values = c[kValues],
                                       .key_cache = c[kKeyCache],
                                       .value_cache = c[kValueCache],
                                       .position = s.position,
                                       .first_token = s.first,
                                       .count = s.count,
                                       .ring = s.ring,
                                       .layout = s.tokens_first ? KvCopyLayout::kTokensFirst
                                                                : KvCopyLayout::kHeadsFirst});
          },
      .reference = [s](Values& v) { reference(v, s); },
      .bytes = count * s.sizes.heads * (s.sizes.dim + value_dim) *
               (info(s.sizes.from).block_bytes +
                info(s.sizes.to).block_bytes / info(s.sizes.to).block_elements),
      .use = use,
      .ledger = std::move(ledger)};
  // A code halfway between two may become either.
  if (s.sizes.to == kQ8_0) out.tolerance = {1e-6, 0, 2.01 / 127};
  return out;
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  for (Dtype from : kFloats) {
    for (Dtype to : {kF32, kF16, kBf16, kQ8_0}) {
      const auto add = [&](const Setup& s, const char* ledger = "") {
        out.push_back(make_case(s, ledger));
      };
      add({.sizes = {from, to, 1, 1, 32, 1}});
      add({.sizes = {from, to, 3, 2, 64, 7}, .position = 4});
      add({.sizes = {from, to, 5, 3, 96, 8}, .position = 6, .ring = true}, "D2");
      add({.sizes = {from, to, 5, 3, 32, 8}, .position = 6, .ring = true, .tokens_first = true});
      add({.sizes = {from, to, 8, 2, 32, 4},
           .position = 4,
           .first = 4,
           .ring = true,
           .what = " a prompt"});
      add({.sizes = {from, to, 9, 2, 32, 12},
           .position = 3,
           .first = 2,
           .count = 5,
           .tokens_first = true});
      add({.sizes = {from, to, 4, 2, 64, 4}, .ring = true, .value_dim = 32, .what = " all rows"});
      add({.sizes = {from, to, 2, 2, 32, 5}, .position = (1ull << 40) + 4, .ring = true}, "D2");
    }
    for (uint64_t dim : {1u, 7u, 80u, 257u}) {
      out.push_back(make_case({.sizes = {from, from, 2, 3, dim, 5}, .position = 1}));
    }
  }
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> rows = {kF32, {5, 2, 32}}, cache = {kF16, {2, 4, 32}};
  const auto with = [](uint64_t position, uint64_t first, uint64_t count, bool ring) {
    return [=](const Call& c) {
      return kv_copy(c.encoder, {.keys = c[0],
                                 .values = c[0],
                                 .key_cache = c[1],
                                 .value_cache = c[2],
                                 .position = position,
                                 .first_token = first,
                                 .count = count,
                                 .ring = ring});
    };
  };
  return {
      {"more tokens than rows",
       {rows, cache, cache},
       with(0, 0, 0, true),
       kOutOfRange,
       "kv_copy: 5 tokens at position 0 of a ring, expected room in 4 rows"},
      {"past the last row",
       {rows, cache, cache},
       with(3, 0, 2, false),
       kOutOfRange,
       "kv_copy: 2 tokens at position 3, expected room in 4 rows"},
      {"a position far out",
       {rows, cache, cache},
       with(UINT64_MAX, 0, 1, false),
       kOutOfRange,
       "expected room in 4 rows"},
      {"tokens that are not there",
       {rows, cache, cache},
       with(0, 4, 2, false),
       kOutOfRange,
       "kv_copy: 2 tokens from 4 on, expected some of 5, which are at most 4294967295"},
      {"no tokens",
       {rows, cache, cache},
       with(0, 5, 0, false),
       kOutOfRange,
       "kv_copy: 0 tokens from 5 on, expected some of 5"},
      {"one cache for both",
       {rows, cache},
       [](const Call& c) { return kv_copy(c.encoder, {c[0], c[0], c[1], c[1], 0, 0, 1}); },
       kInvalidArgument,
       "kv_copy: output and value cache share memory"},
      {"a cache of another format",
       {rows, {kQ4_0, {2, 4, 32}}, {kQ4_0, {2, 4, 32}}},
       with(0, 0, 1, false),
       kDtypeMismatch,
       "kv_copy: key cache is q4_0, expected f32, f16, bf16 or q8_0"},
      {"half a block",
       {{kF32, {5, 2, 16}}, {kQ8_0, {2, 4, 32}}, {kQ8_0, {2, 4, 32}}},
       with(0, 0, 1, false),
       kShapeMismatch,
       "kv_copy: keys has shape [5, 2, 16], expected [tokens, heads, dim] with a dim that is a "
       "multiple of 32"},
  };
}

}  // namespace

std::vector<OpCases> kv_copy_cases() {
  OpCases out = {"kv_copy", "mlxn/ops/kv/kv_copy.h", "cache[position] = k, v", tests(),
                 wrong_calls()};
  for (Dtype to : {kF32, kF16, kQ8_0}) {
    out.cases.push_back(
        make_case({.sizes = {kF32, to, 1, 8, 256, 1024}, .position = 5}, "", Use::kBench));
    out.cases.push_back(
        make_case({.sizes = {kF32, to, 2455, 2, 512, 4096}, .position = 5}, "", Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
