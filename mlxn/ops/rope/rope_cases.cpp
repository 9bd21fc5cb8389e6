#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t tokens, heads, dim;
  RopePairs pairs = RopePairs::kAdjacent;
  uint32_t rotary_dims = 0;
  float base = 10000, scale = 1;
  bool factors = false, in_place = false;
  uint64_t last_position = 100;
};

enum { kInput, kPositions, kFactors, kOutput };

void reference(Values& v, const Setup& s) {
  const std::vector<double> input = v[kInput];
  std::vector<double>& output = v[s.in_place ? kInput : kOutput];
  output = input;
  const uint64_t rotary = s.rotary_dims == 0 ? s.dim : s.rotary_dims;
  for (uint64_t row = 0; row < s.tokens * s.heads; ++row) {
    for (uint64_t i = 0; i < rotary / 2; ++i) {
      const bool adjacent = s.pairs == RopePairs::kAdjacent;
      const uint64_t a = row * s.dim + (adjacent ? 2 * i : i);
      const uint64_t b = adjacent ? a + 1 : a + rotary / 2;
      double angle = v[kPositions][row / s.heads] * double(s.scale) *
                     std::pow(double(s.base), -2.0 * double(i) / double(rotary));
      if (s.factors) angle /= v[kFactors][i];
      output[a] = input[a] * std::cos(angle) - input[b] * std::sin(angle);
      output[b] = input[a] * std::sin(angle) + input[b] * std::cos(angle);
    }
  }
}

Status run(const Call& call, const Setup& s) {
  return rope(call.encoder, {.input = call[kInput],
                             .positions = call[kPositions],
                             .output = call[s.in_place ? kInput : kOutput],
                             .pairs = s.pairs,
                             .rotary_dims = s.rotary_dims,
                             .base = s.base,
                             .scale = s.scale,
                             .frequency_factors = s.factors ? &call[kFactors] : nullptr});
}

OpCase make_case(const std::string& what, Setup s, Use use = Use::kTest) {
  const Shape shape = {s.tokens, s.heads, s.dim};
  const uint64_t pairs = (s.rotary_dims == 0 ? s.dim : s.rotary_dims) / 2;
  OpCase out = {.variant = "f32",
                .shape = str(s.tokens, "x", s.heads, "x", s.dim,
                             s.pairs == RopePairs::kAdjacent ? " adjacent" : " halves", what),
                .tensors = {{kF32, shape, s.in_place ? Role::kInOut : Role::kIn},
                            {kU32, {s.tokens}, Role::kIn, integers(0, s.last_position)},
                            {kF32, {pairs}, Role::kIn, uniform(0.5, 40)}},
                .encode = [s](const Call& call) { return run(call, s); },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-12, 1e-6, 1e-6},
                .flops = 3 * s.tokens * s.heads * s.dim,
                .use = use};
  if (!s.in_place) out.tensors.push_back({kF32, shape, Role::kOut});
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto with = [](uint32_t rotary_dims, float base) {
    return [=](const Call& call) {
      return rope(call.encoder, {.input = call[0],
                                 .positions = call[1],
                                 .output = call[0],
                                 .rotary_dims = rotary_dims,
                                 .base = base});
    };
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 3, 8}}, tokens = {kU32, {2}};
  return {
      {"odd head",
       {{kF32, {2, 3, 7}}, tokens},
       with(0, 1e4f),
       kInvalidArgument,
       "rope: 0 rotary dimensions of a head of 7, expected even numbers"},
      {"odd rotary dimensions",
       {input, tokens},
       with(3, 1e4f),
       kInvalidArgument,
       "rope: 3 rotary dimensions of a head of 8, expected even numbers"},
      {"more rotary dimensions than there are",
       {input, tokens},
       with(10, 1e4f),
       kInvalidArgument,
       "rope: 10 rotary dimensions of a head of 8"},
      {"too few positions",
       {input, {kU32, {1}}},
       with(0, 1e4f),
       kShapeMismatch,
       "rope: positions has 1 elements, shape [1], expected 2"},
      {"two dimensions",
       {{kF32, {2, 8}}, tokens},
       with(0, 1e4f),
       kShapeMismatch,
       "rope: input has shape [2, 8], expected [tokens, heads, dim]"},
      {"head too large",
       {{kF32, {2, 3, 1024}}, tokens},
       with(0, 1e4f),
       kOutOfRange,
       "rope: 512 pairs, expected at most 256"},
      {"base zero",
       {input, tokens},
       with(0, 0),
       kInvalidArgument,
       "rope: base 0 and scale 1, expected a positive and a finite number"},
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
    auto with = [&](const std::string& what, auto change) {
      Setup changed = s;
      change(changed);
      out.cases.push_back(make_case(what, changed));
    };
    with(" partial", [](Setup& c) { c.rotary_dims = 20; });
    with(" scaled", [](Setup& c) { c.scale = 0.25f; });
    with(" base 500000", [](Setup& c) { c.base = 5e5f; });
    with(" factors", [](Setup& c) { c.factors = true; });
    with(" in place", [](Setup& c) { c.in_place = true; });
    with(" far out", [](Setup& c) { c.last_position = 131071; });
    with(" far out with factors", [](Setup& c) {
      c.last_position = 131071;
      c.factors = true;
    });
    s = {.tokens = 1, .heads = 9, .dim = 64, .pairs = pairs};
    out.cases.push_back(make_case("", s, Use::kBench));
    s.tokens = 512;
    out.cases.push_back(make_case("", s, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
