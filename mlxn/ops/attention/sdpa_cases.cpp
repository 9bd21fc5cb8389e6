#include "mlxn/ops/attention/sdpa.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

enum class Mask { kNone, kRows, kHeads };  // [rows, keys] or [batch, heads, rows, keys]

struct Sizes {
  uint64_t batch, heads, kv_heads, rows, keys, dim;
  uint64_t value_dim = 0;  // 0: dim
};

struct Setup {
  Sizes sizes;
  uint64_t capacity = 0;            // 0: keys; what is behind the keys is NaN
  Dtype type = kF32, other = kF32;  // of keys and values; of queries and output
  bool rows_first = false, keys_rows_first = false;
  float scale = 0, soft_cap = 0;
  bool causal = false;
  uint64_t window = 0;
  std::optional<uint64_t> offset = {};
  Mask mask = Mask::kNone;
  Dtype mask_type = kF32;
  Fill mask_fill = {};
  bool slopes = false, sinks = false, blocks = false;
  double large = 1;       // times which queries are larger
  bool poisoned = false;  // keys that no query sees are NaN
  std::string what = {};

  uint64_t values() const { return sizes.value_dim ? sizes.value_dim : sizes.dim; }
  uint64_t room() const { return capacity ? capacity : sizes.keys; }
  uint64_t first() const {
    return offset ? *offset : sizes.keys > sizes.rows ? sizes.keys - sizes.rows : 0;
  }
};

enum { kQueries, kKeys, kValues, kOutput, kMask, kSlopes, kSinks };

uint64_t at(bool rows_first, uint64_t heads, uint64_t rows, uint64_t dim, uint64_t b, uint64_t h,
            uint64_t r) {
  return rows_first ? ((b * rows + r) * heads + h) * dim : ((b * heads + h) * rows + r) * dim;
}

bool seen(const Setup& s, uint64_t position, uint64_t key) {
  if (s.causal && key > position) return false;
  return s.window == 0 || key > position || position - key < s.window;
}

double bias_of(const Values& v, const Setup& s, uint64_t b, uint64_t h, uint64_t r, uint64_t key) {
  double bias = 0;
  const uint64_t plane = s.mask == Mask::kHeads ? b * s.sizes.heads + h : 0;
  if (s.mask != Mask::kNone) {
    const double cell = v[kMask][(plane * s.sizes.rows + r) * s.sizes.keys + key];
    bias = s.mask_type != kBool ? cell : cell != 0 ? 0 : -INFINITY;
  }
  const double apart = double(key) - double(s.first() + r);
  return s.slopes ? bias - v[kSlopes][h] * std::abs(apart) : bias;
}

// One query and head.
void attend(Values& v, const Setup& s, uint64_t b, uint64_t h, uint64_t r) {
  const uint64_t kv = h / (s.sizes.heads / s.sizes.kv_heads), position = s.first() + r;
  const double* query =
      &v[kQueries][at(s.rows_first, s.sizes.heads, s.sizes.rows, s.sizes.dim, b, h, r)];
  double* output = &v[kOutput][at(s.rows_first, s.sizes.heads, s.sizes.rows, s.values(), b, h, r)];
  std::vector<std::pair<uint64_t, double>> scores;
  double most = s.sinks ? v[kSinks][h] : -INFINITY;
  for (uint64_t k = 0; k < s.sizes.keys; ++k) {
    if (!seen(s, position, k)) continue;
    const double* key =
        &v[kKeys][at(s.keys_rows_first, s.sizes.kv_heads, s.room(), s.sizes.dim, b, kv, k)];
    double score = 0;
    for (uint64_t d = 0; d < s.sizes.dim; ++d) score += query[d] * key[d];
    score *= s.scale != 0 ? double(s.scale) : 1 / std::sqrt(double(s.sizes.dim));
    if (s.soft_cap > 0) score = double(s.soft_cap) * std::tanh(score / double(s.soft_cap));
    const double bias = bias_of(v, s, b, h, r, k);
    if (bias == -INFINITY) continue;
    scores.emplace_back(k, score + bias);
    most = std::max(most, score + bias);
  }
  double total = s.sinks ? std::exp(v[kSinks][h] - most) : 0;
  for (auto& [k, score] : scores) total += score = std::exp(score - most);
  for (const auto& [k, weight] : scores) {
    const double* value =
        &v[kValues][at(s.keys_rows_first, s.sizes.kv_heads, s.room(), s.values(), b, kv, k)];
    for (uint64_t d = 0; d < s.values(); ++d) output[d] += weight / total * value[d];
  }
}

void reference(Values& v, const Setup& s) {
  for (uint64_t i = 0; i < s.sizes.batch * s.sizes.heads * s.sizes.rows; ++i) {
    attend(v, s, i / s.sizes.rows / s.sizes.heads, i / s.sizes.rows % s.sizes.heads,
           i % s.sizes.rows);
  }
}

// Numbers, and NaN behind the last key or in keys that no query sees.
Fill key_fill(const Setup& s, uint64_t dim, double large) {
  return [=](Random& random, std::span<double> values) {
    uniform(-large, large)(random, values);
    for (uint64_t k = 0; k < s.room(); ++k) {
      bool any = false;
      for (uint64_t r = 0; r < s.sizes.rows && k < s.sizes.keys; ++r)
        any |= seen(s, s.first() + r, k);
      if (k < s.sizes.keys && (any || !s.poisoned)) continue;
      for (uint64_t i = 0; i < s.sizes.batch * s.sizes.kv_heads; ++i) {
        const uint64_t from = at(s.keys_rows_first, s.sizes.kv_heads, s.room(), dim,
                                 i / s.sizes.kv_heads, i % s.sizes.kv_heads, k);
        std::fill_n(values.begin() + static_cast<ptrdiff_t>(from), dim, NAN);
      }
    }
  };
}

Shape shape_of(bool rows_first, uint64_t batch, uint64_t heads, uint64_t rows, uint64_t dim) {
  return rows_first ? Shape{batch, rows, heads, dim} : Shape{batch, heads, rows, dim};
}

std::string name_of(const Setup& s) {
  return str(s.sizes.batch, "x", s.sizes.heads, "/", s.sizes.kv_heads, "x", s.sizes.rows, " of ",
             s.sizes.keys, "x", s.sizes.dim, s.sizes.value_dim ? str("/", s.sizes.value_dim) : "",
             s.capacity ? str(" in ", s.capacity) : "",
             s.other != s.type ? str(" ", text(s.other)) : "", s.rows_first ? " rows first" : "",
             s.keys_rows_first ? " keys rows first" : "", s.causal ? " causal" : "",
             s.window ? str(" window ", s.window) : "", s.offset ? str(" at ", *s.offset) : "",
             s.mask == Mask::kRows    ? str(" mask ", text(s.mask_type))
             : s.mask == Mask::kHeads ? str(" masks ", text(s.mask_type))
                                      : "",
             s.slopes ? " slopes" : "", s.sinks ? " sinks" : "",
             s.soft_cap > 0 ? str(" cap ", s.soft_cap) : "", s.scale != 0 ? " scaled" : "", s.what);
}

Status call(const Setup& s, const Call& c) {
  const auto layout = [](bool rows_first) {
    return rows_first ? SdpaLayout::kSequenceFirst : SdpaLayout::kHeadsFirst;
  };
  return sdpa(c.encoder, {.queries = c[kQueries],
                          .keys = c[kKeys],
                          .values = c[kValues],
                          .output = c[kOutput],
                          .length = s.capacity ? s.sizes.keys : 0,
                          .query_layout = layout(s.rows_first),
                          .key_layout = layout(s.keys_rows_first),
                          .scale = s.scale,
                          .soft_cap = s.soft_cap,
                          .causal = s.causal,
                          .window = s.window,
                          .offset = s.offset,
                          .mask = s.mask != Mask::kNone ? &c[kMask] : nullptr,
                          .slopes = s.slopes ? &c[kSlopes] : nullptr,
                          .sinks = s.sinks ? &c[kSinks] : nullptr});
}

OpCase make_case(const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const Dtype mask_type = s.mask == Mask::kNone ? kF32 : s.mask_type;
  const Shape mask = s.mask == Mask::kHeads
                         ? Shape{s.sizes.batch, s.sizes.heads, s.sizes.rows, s.sizes.keys}
                         : Shape{s.sizes.rows, s.sizes.keys};
  const Fill plain = mask_type == kBool ? integers(0, 1) : uniform(-3, 3);
  const double exact = precision(s.other);
  return {
      .variant = text(s.type),
      .shape = name_of(s),
      .tensors =
          {{s.other,
            shape_of(s.rows_first, s.sizes.batch, s.sizes.heads, s.sizes.rows, s.sizes.dim),
            Role::kIn, uniform(-2 * s.large, 2 * s.large)},
           {s.type,
            shape_of(s.keys_rows_first, s.sizes.batch, s.sizes.kv_heads, s.room(), s.sizes.dim),
            Role::kIn, key_fill(s, s.sizes.dim, 2)},
           {s.type,
            shape_of(s.keys_rows_first, s.sizes.batch, s.sizes.kv_heads, s.room(), s.values()),
            Role::kIn, key_fill(s, s.values(), 2)},
           {s.other, shape_of(s.rows_first, s.sizes.batch, s.sizes.heads, s.sizes.rows, s.values()),
            Role::kOut},
           {mask_type,
            mask,
            Role::kIn,
            s.mask_fill ? s.mask_fill : plain,
            {.all = s.mask == Mask::kNone}},
           {kF32, {s.sizes.heads}, Role::kIn, uniform(0, 0.5), {.all = !s.slopes}},
           {kF32, {s.sizes.heads}, Role::kIn, uniform(-2, 4), {.all = !s.sinks}}},
      .encode = [s](const Call& c) { return call(s, c); },
      .reference = [s](Values& v) { reference(v, s); },
      .tolerance = {1e-11 + exact * exact / 4, 1e-5 + exact / 2, 1e-5 + exact / 64},
      .flops = 2 * s.sizes.batch * s.sizes.heads * s.sizes.rows * s.sizes.keys *
               (s.sizes.dim + s.values()) / (s.causal && s.sizes.rows > 1 ? 2 : 1),
      .use = use,
      .ledger = std::move(ledger)};
}

// A NaN in a result fails a case unless the reference has one there too.
std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, ledger));
  };
  // All of the arguments, so that calls without one of them are tried.
  for (Dtype type : kFloats) {
    add({.sizes = {2, 4, 2, 3, 5, 8},
         .type = type,
         .other = type,
         .causal = true,
         .mask = Mask::kHeads,
         .slopes = true,
         .sinks = true});
  }
  // The original's list for sdpa, prefill and decode.
  for (Dtype type : kFloats) {
    add({.sizes = {1, 4, 4, 32, 32, 64}, .type = type, .other = type, .causal = true});
    add({.sizes = {1, 16, 2, 5, 32, 64}, .type = type, .other = type, .causal = true}, "D6");
    add({.sizes = {1, 4, 4, 1, 64, 64}, .type = type, .other = type, .causal = true});
    add({.sizes = {1, 16, 8, 1, 128, 64}, .type = type, .other = kF32, .causal = true});
    add({.sizes = {2, 4, 4, 16, 16, 32}, .type = type, .other = kF32, .causal = true});
  }
  // Heads of every size.
  for (uint64_t dim : {1u, 16u, 31u, 64u, 72u, 80u, 96u, 112u, 128u, 192u, 256u, 512u, 576u}) {
    add({.sizes = {1, 2, 1, 7, 40, dim}, .type = kF16, .causal = true}, "D7");
    add({.sizes = {1, 2, 2, 1, 70, dim}, .type = kBf16, .causal = true}, "D7");
  }
  for (uint64_t rows : {1u, 6u}) {
    for (Dtype type : kFloats) {
      add({.sizes = {1, 3, 1, rows, 37, 192, 128}, .type = type, .causal = true});
      add({.sizes = {1, 2, 1, rows, 37, 576, 512}, .type = type, .causal = true});
      add({.sizes = {1, 2, 1, rows, 37, 64, 320}, .type = type, .causal = true});
    }
  }
  // Lengths beside those of chunks; a part of a cache, NaN behind it.
  for (uint64_t keys : {1u, 2u, 31u, 32u, 33u, 63u, 127u, 128u, 129u, 300u}) {
    add({.sizes = {1, 4, 2, 1, keys, 64}, .capacity = keys + 37, .type = kF16}, "D9 D13");
    add({.sizes = {1, 2, 1, 5, keys, 48}, .capacity = keys + 9, .type = kBf16, .offset = 0},
        "D9 D13");
  }
  add({.sizes = {1, 8, 1, 1, 4096, 64}, .type = kF16, .poisoned = true});
  add({.sizes = {1, 16, 8, 1, 48, 256}, .capacity = 64, .type = kF16});
  add({.sizes = {1, 4, 4, 1, 64, 256}, .capacity = 128, .window = 16, .poisoned = true});
  for (uint64_t rows = 1; rows <= 15; ++rows) {
    for (uint64_t keys : {rows, 17 - rows}) {
      add({.sizes = {1, 2, 1, rows, keys, 40},
           .type = kBf16,
           .other = kBf16,
           .causal = true,
           .offset = 0,
           .poisoned = true},
          "D12");
    }
  }
  // Offsets that are no multiple of a tile.
  for (uint64_t offset : {0u, 1u, 8u, 15u, 31u, 33u}) {
    add({.sizes = {1, 2, 1, 40, 48 + offset, 32},
         .capacity = 128,
         .causal = true,
         .offset = offset,
         .poisoned = true},
        "D11");
  }
  add({.sizes = {1, 2, 2, 3, 10, 16}, .causal = true, .offset = 1ull << 40}, "D2");
  add({.sizes = {1, 2, 2, 3, 10, 16}, .window = 5, .offset = 1ull << 40, .what = " out of sight"});
  // Windows: as many keys as it says.
  for (uint64_t window : {1u, 2u, 8u, 16u, 31u, 33u, 200u}) {
    add({.sizes = {1, 2, 1, 50, 90, 24}, .causal = true, .window = window}, "D4");
    add({.sizes = {1, 2, 1, 1, 90, 24}, .causal = true, .window = window, .poisoned = true}, "D4");
    add({.sizes = {1, 1, 1, 40, 70, 24}, .window = window});
  }
  // Layouts.
  for (uint64_t rows : {1u, 33u}) {
    add({.sizes = {2, 4, 2, rows, 50, 40}, .type = kF16, .rows_first = true, .causal = true});
    add({.sizes = {2, 4, 2, rows, 50, 40}, .keys_rows_first = true, .causal = true});
    add({.sizes = {2, 4, 4, rows, 50, 64, 24},
         .capacity = 60,
         .rows_first = true,
         .keys_rows_first = true});
  }
  // Masks.
  const Fill shut = exactly({-INFINITY}), board = exactly({0, -INFINITY, 0}),
             far = exactly({0, -1e4, -1e4, 0, -1e4});
  for (uint64_t rows : {1u, 35u}) {
    for (Dtype type : {kF32, kF16, kBf16, kBool}) {
      add({.sizes = {2, 4, 2, rows, 67, 24}, .mask = Mask::kRows, .mask_type = type});
      add({.sizes = {2, 4, 2, rows, 67, 24},
           .causal = true,
           .mask = Mask::kHeads,
           .mask_type = type});
    }
    add({.sizes = {1, 2, 2, rows, 40, 16},
         .mask = Mask::kRows,
         .mask_fill = shut,
         .what = " shut"});
    add({.sizes = {1, 2, 2, rows, 40, 16},
         .mask = Mask::kRows,
         .mask_type = kBool,
         .mask_fill = integers(0, 0),
         .what = " shut"});
    add({.sizes = {1, 2, 2, rows, 40, 16},
         .mask = Mask::kRows,
         .mask_fill = shut,
         .sinks = true,
         .what = " shut"});
    add({.sizes = {1, 2, 2, rows, 65, 16},
         .mask = Mask::kRows,
         .mask_fill = board,
         .what = " board"});
    add({.sizes = {1, 2, 2, rows, 65, 16},
         .mask = Mask::kRows,
         .mask_type = kBf16,
         .mask_fill = far,
         .what = " far"});
  }
  // Numbers besides.
  for (uint64_t rows : {1u, 9u}) {
    for (Dtype type : kFloats) {
      add({.sizes = {1, 6, 2, rows, 70, 40}, .type = type, .soft_cap = 2, .causal = true}, "D5");
      add({.sizes = {1, 6, 3, rows, 70, 40}, .type = type, .causal = true, .slopes = true});
      add({.sizes = {1, 6, 1, rows, 70, 40}, .type = type, .causal = true, .sinks = true});
    }
    add({.sizes = {1, 24, 2, rows, 70, 40}, .causal = true, .sinks = true});
    add({.sizes = {1, 2, 1, rows, 70, 40}, .slopes = true, .what = " both ways"});
    add({.sizes = {1, 2, 1, rows, 70, 128}, .scale = 1, .large = 4});
    add({.sizes = {1, 2, 1, rows, 300, 64}, .type = kF16, .scale = 4, .causal = true, .large = 4});
  }
  // Weights that are all alike: long sums of one sign.
  for (uint64_t rows : {1u, 2u}) {
    Setup alike = {.sizes = {1, 1, 1, rows, 3000, 16}, .what = " alike"};
    alike.large = 1e-3;
    OpCase one = make_case(alike);
    one.tensors[kValues].fill = uniform(0.5, 1);
    out.push_back(one);
  }
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> queries = {kF32, {1, 4, 3, 16}}, keys = {kF16, {1, 2, 8, 16}};
  const std::vector<std::pair<Dtype, Shape>> all = {queries, keys, keys, queries};
  const auto plain = [](const Call& c) { return sdpa(c.encoder, {c[0], c[1], c[2], c[3]}); };
  const auto with = [](auto change) {
    return [change](const Call& c) {
      SdpaParams params = {c[0], c[1], c[2], c[3]};
      change(params);
      return sdpa(c.encoder, params);
    };
  };
  const std::pair<Dtype, Shape> wide = {kF32, {1, 1, 3, 577}}, three = {kF16, {1, 3, 8, 16}},
                                few = {kF16, {1, 2, 2, 16}};
  return {
      {"heads that do not divide",
       {queries, three, three, queries},
       plain,
       kShapeMismatch,
       "sdpa: 4 heads of queries and 3 of keys, expected a multiple"},
      {"heads too wide",
       {wide, wide, wide, wide},
       plain,
       kOutOfRange,
       "sdpa: heads of 577 and 577 elements, expected at most 576"},
      {"more keys than room", all, with([](SdpaParams& p) { p.length = 9; }), kOutOfRange,
       "sdpa: 9 keys, expected at most the 8 that there is room for"},
      {"more queries than keys",
       {queries, few, few, queries},
       with([](SdpaParams& p) { p.causal = true; }),
       kInvalidArgument,
       "sdpa: 3 queries for 2 keys, expected an offset, or not more queries than keys"},
      {"an infinite scale", all, with([](SdpaParams& p) { p.scale = INFINITY; }), kInvalidArgument,
       "sdpa: scale inf and soft cap 0, expected finite numbers, the second not negative"},
      {"a negative cap", all, with([](SdpaParams& p) { p.soft_cap = -1; }), kInvalidArgument,
       "soft cap -1"},
      {"an offset that overflows", all, with([](SdpaParams& p) { p.offset = UINT64_MAX; }),
       kOutOfRange, "18446744073709551615 + 3 overflows"},
      {"blocks without a mask", all, with([](SdpaParams& p) { p.blocks = &p.keys; }),
       kInvalidArgument, "sdpa: blocks without a mask of two dimensions, expected both"},
      {"output is the queries",
       {queries, keys, keys},
       [](const Call& c) { return sdpa(c.encoder, {c[0], c[1], c[2], c[0]}); },
       kInvalidArgument,
       "sdpa: output and queries share memory"},
  };
}

}  // namespace

std::vector<OpCases> sdpa_cases() {
  OpCases out = {"sdpa", "mlxn/ops/attention/sdpa.h", "softmax(q kᵀ + mask) v", tests(),
                 wrong_calls()};
  const auto bench = [&](const Setup& s) { out.cases.push_back(make_case(s, "", Use::kBench)); };
  for (uint64_t keys : {512u, 4096u}) {
    bench({.sizes = {1, 32, 8, 1, keys, 128}, .type = kF16});
    bench({.sizes = {1, 8, 8, 1, keys, 128}, .type = kF16});
  }
  bench({.sizes = {1, 16, 8, 1, 1024, 256}, .type = kF16});
  bench({.sizes = {1, 16, 2, 1, 1024, 512}, .type = kF16});
  bench({.sizes = {1, 12, 12, 128, 128, 64}, .type = kF32});
  for (Dtype type : kFloats)
    bench({.sizes = {1, 8, 2, 512, 512, 128}, .type = type, .causal = true});
  bench({.sizes = {1, 4, 2, 256, 256, 256}, .type = kBf16, .causal = true});
  bench({.sizes = {1, 2, 1, 128, 512, 512}, .type = kBf16, .causal = true});
  return {out};
}

}  // namespace mlxn::cases
