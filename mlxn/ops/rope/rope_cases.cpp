#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct TableSetup {
  uint64_t tokens, pairs;
  float base = 10000, scale = 1;
  bool factors = false;
  uint64_t last_position = 100;
};

OpCase table_case(const std::string& what, const TableSetup& s, Use use = Use::kTest) {
  enum { kPositions, kFactors, kOutput };
  return {
      .variant = "f32",
      .shape = str(s.tokens, "x", s.pairs, what),
      .tensors = {{kU32, {s.tokens}, Role::kIn, integers(0, s.last_position)},
                  {kF32, {s.pairs}, Role::kIn, uniform(0.5, 40), {.all = !s.factors}},
                  {kF32,
                   {s.tokens, s.pairs, 2},
                   Role::kOut,
                   {},
                   {.sizes = s.factors ? std::vector<size_t>{} : std::vector<size_t>{1}}}},
      .encode =
          [s](const Call& c) {
            return rope_table(c.encoder, {.positions = c[kPositions],
                                          .output = c[kOutput],
                                          .base = s.base,
                                          .scale = s.scale,
                                          .frequency_factors = s.factors ? &c[kFactors] : nullptr});
          },
      .reference =
          [s](Values& v) {
            for (uint64_t i = 0; i < s.tokens * s.pairs; ++i) {
              const uint64_t pair = i % s.pairs;
              const double power = -double(pair) / double(s.pairs);
              const double frequency = double(s.scale) * std::pow(double(s.base), power);
              const double angle =
                  v[kPositions][i / s.pairs] * frequency / (s.factors ? v[kFactors][pair] : 1.0);
              v[kOutput][2 * i] = std::cos(angle);
              v[kOutput][2 * i + 1] = std::sin(angle);
            }
          },
      .tolerance = {1e-13, 2e-7, 2e-7},
      .flops = 20 * s.tokens * s.pairs,
      .use = use};
}

OpCases table_cases() {
  using enum ErrorCode;
  const auto with = [](float base) {
    return [=](const Call& c) {
      return rope_table(c.encoder, {.positions = c[0], .output = c[1], .base = base});
    };
  };
  const std::pair<Dtype, Shape> positions = {kU32, {2}}, table = {kF32, {2, 4, 2}};
  OpCases out = {"rope_table",
                 "mlxn/ops/rope/rope.h",
                 "cos, sin of position * frequency",
                 {},
                 {
                     {"too few positions",
                      {{kU32, {1}}, table},
                      with(1e4f),
                      kShapeMismatch,
                      "rope_table: positions has 1 elements, shape [1], expected 2"},
                     {"no pairs of numbers",
                      {positions, {kF32, {2, 8}}},
                      with(1e4f),
                      kShapeMismatch,
                      "rope_table: output has shape [2, 8], expected [tokens, pairs, 2]"},
                     {"too many pairs",
                      {positions, {kF32, {2, 512, 2}}},
                      with(1e4f),
                      kOutOfRange,
                      "rope_table: 512 pairs, expected at most 256"},
                     {"base zero",
                      {positions, table},
                      with(0),
                      kInvalidArgument,
                      "rope_table: base 0 and scale 1, expected a positive and a finite number"},
                 }};
  for (TableSetup s : {TableSetup{1, 1}, TableSetup{3, 4}, TableSetup{5, 40}, TableSetup{2, 256}})
    out.cases.push_back(table_case("", s));
  const TableSetup s = {.tokens = 9, .pairs = 32};
  auto with_change = [&](const std::string& what, auto change) {
    TableSetup changed = s;
    change(changed);
    out.cases.push_back(table_case(what, changed));
  };
  with_change(" scaled", [](TableSetup& c) { c.scale = 0.25f; });
  with_change(" base 500000", [](TableSetup& c) { c.base = 5e5f; });
  with_change(" factors", [](TableSetup& c) { c.factors = true; });
  with_change(" far out", [](TableSetup& c) { c.last_position = 131071; });
  with_change(" far out with factors", [](TableSetup& c) {
    c.last_position = 131071;
    c.factors = true;
  });
  for (uint64_t tokens : {1u, 512u}) out.cases.push_back(table_case("", {tokens, 32}, Use::kBench));
  return out;
}

struct Setup {
  uint64_t tokens, heads, dim;
  RopePairs pairs = RopePairs::kAdjacent;
  uint64_t rotary_dims = 0;  // 0: all
  bool in_place = false;

  uint64_t rotary() const { return rotary_dims == 0 ? dim : rotary_dims; }
};

enum { kInput, kTable, kOutput };

void reference(Values& v, const Setup& s) {
  const std::vector<double> input = v[kInput];
  std::vector<double>& output = v[s.in_place ? kInput : kOutput];
  output = input;
  const uint64_t pairs = s.rotary() / 2;
  for (uint64_t row = 0; row < s.tokens * s.heads; ++row) {
    for (uint64_t i = 0; i < pairs; ++i) {
      const bool adjacent = s.pairs == RopePairs::kAdjacent;
      const uint64_t a = row * s.dim + (adjacent ? 2 * i : i);
      const uint64_t b = adjacent ? a + 1 : a + pairs;
      const uint64_t entry = 2 * (row / s.heads * pairs + i);
      const double cosine = v[kTable][entry], sine = v[kTable][entry + 1];
      output[a] = input[a] * cosine - input[b] * sine;
      output[b] = input[a] * sine + input[b] * cosine;
    }
  }
}

OpCase make_case(const std::string& what, Setup s, Use use = Use::kTest) {
  const Shape shape = {s.tokens, s.heads, s.dim};
  OpCase out = {.variant = "f32",
                .shape = str(s.tokens, "x", s.heads, "x", s.dim,
                             s.pairs == RopePairs::kAdjacent ? " adjacent" : " halves", what),
                .tensors = {{kF32, shape, s.in_place ? Role::kInOut : Role::kIn},
                            {kF32, {s.tokens, s.rotary() / 2, 2}, Role::kIn, uniform(-1, 1)}},
                .encode =
                    [s](const Call& c) {
                      return rope(c.encoder, {.input = c[kInput],
                                              .table = c[kTable],
                                              .output = c[s.in_place ? kInput : kOutput],
                                              .pairs = s.pairs});
                    },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-13, 3e-7, 3e-7},
                .flops = 3 * s.tokens * s.heads * s.dim,
                .use = use};
  if (!s.in_place) out.tensors.push_back({kF32, shape, Role::kOut});
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return rope(c.encoder, {.input = c[0], .table = c[1], .output = c[0]});
  };
  const auto into_table = [](const Call& c) {
    return rope(c.encoder, {.input = c[0], .table = c[1], .output = c[1]});
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 3, 8}}, table = {kF32, {2, 4, 2}};
  return {
      {"odd head",
       {{kF32, {2, 3, 7}}, {kF32, {2, 3, 2}}},
       call,
       kShapeMismatch,
       "rope: table has shape [2, 3, 2], expected [2, pairs, 2] with at most half as many pairs as "
       "the 7 elements of a head, which must be even"},
      {"more pairs than there are",
       {input, {kF32, {2, 5, 2}}},
       call,
       kShapeMismatch,
       "rope: table has shape [2, 5, 2], expected [2, pairs, 2]"},
      {"a table of fewer tokens",
       {input, {kF32, {1, 4, 2}}},
       call,
       kShapeMismatch,
       "rope: table has shape [1, 4, 2], expected [2, pairs, 2]"},
      {"a table of another dtype",
       {input, {kF16, {2, 4, 2}}},
       call,
       kDtypeMismatch,
       "rope: table is f16, expected f32"},
      {"two dimensions",
       {{kF32, {2, 8}}, table},
       call,
       kShapeMismatch,
       "rope: input has shape [2, 8], expected [tokens, heads, dim]"},
      {"output in the table",
       {{kF32, {2, 1, 8}}, table},
       into_table,
       kInvalidArgument,
       "rope: output and table share memory"},
  };
}

}  // namespace

std::vector<OpCases> rope_cases() {
  OpCases out = {"rope", "mlxn/ops/rope/rope.h", "pairs turned by position", {}, wrong_calls()};
  for (RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    for (Setup s : {Setup{1, 1, 2}, Setup{3, 2, 8}, Setup{2, 3, 64}, Setup{5, 9, 80},
                    Setup{2, 4, 96}, Setup{2, 2, 128}, Setup{1, 2, 256}}) {
      s.pairs = pairs;
      out.cases.push_back(make_case("", s));
    }
    Setup s = {.tokens = 4, .heads = 3, .dim = 64, .pairs = pairs};
    s.rotary_dims = 20;
    out.cases.push_back(make_case(" partial", s));
    s.rotary_dims = 0;
    s.in_place = true;
    out.cases.push_back(make_case(" in place", s));
    for (uint64_t tokens : {1u, 512u}) {
      s = {.tokens = tokens, .heads = 9, .dim = 64, .pairs = pairs};
      out.cases.push_back(make_case("", s, Use::kBench));
    }
  }
  return {table_cases(), out};
}

}  // namespace mlxn::cases
