#include <array>
#include <cmath>
#include <numbers>

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

// More than one position for a token, YaRN, signed positions. The reference goes pair by pair.
struct Axes {
  RopeAxes axes = RopeAxes::kOne;
  std::array<uint32_t, 4> sections = {};
  RopeYarn yarn = {};
  float base = 10000, scale = 1;
  uint32_t denominator = 0;
  Dtype dtype = kU32;
};

uint64_t axis_count(const Axes& a) {
  return a.axes == RopeAxes::kOne ? 1 : a.axes == RopeAxes::kVision ? 2 : 4;
}

// Axis and exponent of a pair, by counting off the sections.
std::pair<uint64_t, uint64_t> axis_of(const Axes& a, uint64_t pair) {
  if (a.axes == RopeAxes::kOne) return {0, pair};
  uint64_t sum = 0;
  for (const uint32_t s : a.sections) sum += s;
  uint64_t left = pair % sum;
  if (a.axes == RopeAxes::kInterleaved) {
    const uint64_t turn = left % 3;
    return {left / 3 < a.sections[turn] ? turn : 3, pair};
  }
  uint64_t axis = 0;
  while (left >= a.sections[axis]) left -= a.sections[axis++];
  return {axis, a.axes == RopeAxes::kVision ? left : pair};
}

// Radians for each position.
double frequency_of(const Axes& a, uint64_t exponent, uint64_t pairs) {
  double dims = a.denominator;
  if (dims == 0) dims = double(a.axes == RopeAxes::kVision ? pairs : 2 * pairs);
  const double trained = std::pow(double{a.base}, -2 * double(exponent) / dims);
  if (a.yarn.ext_factor == 0) return trained * double{a.scale};
  const auto dimension = [&](double turns) {
    return dims * std::log(a.yarn.original_context / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(double{a.base}));
  };
  const double low = std::max(0.0, std::floor(dimension(a.yarn.beta_fast)));
  const double high = std::min(dims - 1, std::ceil(dimension(a.yarn.beta_slow)));
  double mix =
      1 - std::min(1.0, std::max(0.0, (double(exponent) - low) / std::max(0.001, high - low)));
  mix *= a.yarn.ext_factor;
  return trained * double{a.scale} * (1 - mix) + trained * mix;
}

OpCase axes_case(const std::string& what, const Axes& a, uint64_t tokens, uint64_t pairs,
                 bool factors = false) {
  enum { kPositions, kFactors, kOutput };
  const uint64_t axes = axis_count(a);
  const Fill positions =
      a.dtype == kI32 ? exactly({-5, 7, 0, -1000, 31, 2, 77, 100000}) : integers(0, 4000);
  OpCase out = table_case("", {tokens, pairs});
  out.variant = a.axes == RopeAxes::kOne ? "f32" : "f32 axes";
  out.shape = str(tokens, "x", pairs, " ", what);
  out.tensors = {{a.dtype, {axes, tokens}, Role::kIn, positions},
                 {kF32, {pairs}, Role::kIn, uniform(0.5, 40), {.all = !factors}},
                 {kF32, {tokens, pairs, 2}, Role::kOut}};
  if (!factors && a.axes != RopeAxes::kVision) out.tensors[kOutput].accepts.sizes = {1};
  out.encode = [=](const Call& c) {
    return rope_table(c.encoder, {.positions = c[kPositions],
                                  .output = c[kOutput],
                                  .base = a.base,
                                  .scale = a.scale,
                                  .frequency_factors = factors ? &c[kFactors] : nullptr,
                                  .denominator = a.denominator,
                                  .axes = a.axes,
                                  .sections = a.sections,
                                  .yarn = a.yarn});
  };
  out.reference = [=](Values& v) {
    const double length = a.yarn.attn_factor *
                          (a.yarn.ext_factor == 0 ? 1.0 : 1 + 0.1 * std::log(1 / double{a.scale}));
    for (uint64_t t = 0; t < tokens; ++t) {
      for (uint64_t i = 0; i < pairs; ++i) {
        const auto [axis, exponent] = axis_of(a, i);
        const double angle = v[kPositions][axis * tokens + t] * frequency_of(a, exponent, pairs) /
                             (factors ? v[kFactors][i] : 1.0);
        v[kOutput][2 * (t * pairs + i)] = std::cos(angle) * length;
        v[kOutput][2 * (t * pairs + i) + 1] = std::sin(angle) * length;
      }
    }
  };
  out.tolerance = {1e-12, 4e-7, 4e-7};
  return out;
}

void add_axes(std::vector<OpCase>& out) {
  OpCase still = axes_case("factors that stop pairs", {}, 3, 4, true);
  still.tensors[1].fill = exactly({1, 1e30, 2, 1e30});
  out.push_back(still);
  const Axes m = {.axes = RopeAxes::kSections, .sections = {2, 2, 1, 0}, .base = 2};
  Axes im = m;
  im.axes = RopeAxes::kInterleaved;
  out.push_back(axes_case("mrope", m, 3, 4));
  out.push_back(axes_case("imrope", im, 3, 4));
  out.push_back(axes_case("mrope with factors", m, 3, 4, true));
  out.push_back(axes_case("imrope with factors", im, 3, 9, true));
  const Axes qwen = {.axes = RopeAxes::kInterleaved, .sections = {11, 11, 10, 0}, .base = 1e7f};
  out.push_back(axes_case("imrope qwen", qwen, 5, 32));
  Axes fourth = m;
  fourth.sections = {1, 1, 1, 3};
  out.push_back(axes_case("mrope fourth axis", fourth, 4, 13));
  fourth.axes = RopeAxes::kInterleaved;
  out.push_back(axes_case("imrope fourth axis", fourth, 4, 13));
  const Axes vision = {.axes = RopeAxes::kVision, .sections = {2, 2}};
  out.push_back(axes_case("vision", vision, 3, 4));
  const Axes uneven = {.axes = RopeAxes::kVision, .sections = {7, 29}, .base = 100};
  out.push_back(axes_case("vision uneven", uneven, 6, 36, true));
  out.push_back(axes_case("signed", {.dtype = kI32}, 8, 16));
  out.push_back(axes_case("signed mrope",
                          {.axes = RopeAxes::kSections, .sections = {8, 4, 4, 0}, .dtype = kI32}, 2,
                          16));
  out.push_back(axes_case("whole head denominator", {.denominator = 512}, 4, 32));
}

void add_yarn(std::vector<OpCase>& out) {
  const RopeYarn full = {.ext_factor = 1, .original_context = 4096};
  out.push_back(axes_case("yarn", {.yarn = full, .scale = 0.25f}, 7, 64));
  out.push_back(axes_case("yarn with factors", {.yarn = full, .scale = 0.25f}, 7, 64, true));
  RopeYarn half = full;
  half.ext_factor = 0.5f;
  half.attn_factor = 0.8f;
  half.beta_fast = 16;
  half.beta_slow = 2;
  out.push_back(axes_case("yarn half", {.yarn = half, .scale = 0.125f}, 7, 32));
  out.push_back(axes_case("attention factor alone", {.yarn = {.attn_factor = 1.5f}}, 3, 8));
  out.push_back(axes_case("yarn mrope",
                          {.axes = RopeAxes::kSections,
                           .sections = {16, 24, 24, 0},
                           .yarn = full,
                           .base = 1e6f,
                           .scale = 0.5f},
                          4, 64));
}

std::vector<WrongCall> wrong_axes() {
  using enum ErrorCode;
  const auto with = [](RopeAxes axes, std::array<uint32_t, 4> sections, RopeYarn yarn = {}) {
    return [=](const Call& c) {
      return rope_table(
          c.encoder,
          {.positions = c[0], .output = c[1], .axes = axes, .sections = sections, .yarn = yarn});
    };
  };
  const std::pair<Dtype, Shape> table = {kF32, {2, 4, 2}}, one = {kU32, {2}}, two = {kU32, {2, 2}},
                                four = {kU32, {4, 2}};
  return {
      {"no sections",
       {four, table},
       with(RopeAxes::kSections, {}),
       kInvalidArgument,
       "rope_table: sections of 0, 0, 0 and 0 pairs, expected some of 4"},
      {"vision of fewer",
       {two, table},
       with(RopeAxes::kVision, {1, 2}),
       kInvalidArgument,
       "rope_table: sections of 1, 2, 0 and 0 pairs, expected Vision to have two of all 4"},
      {"vision of three",
       {two, table},
       with(RopeAxes::kVision, {2, 2, 1}),
       kInvalidArgument,
       "rope_table: sections of 2, 2, 1 and 0 pairs"},
      {"one axis of four",
       {one, table},
       with(RopeAxes::kInterleaved, {2, 1, 1, 0}),
       kShapeMismatch,
       "rope_table: positions has 2 elements, shape [2], expected 8"},
      {"yarn without a context",
       {one, table},
       with(RopeAxes::kOne, {}, {.ext_factor = 1}),
       kInvalidArgument,
       "rope_table: betas 32 and 1, original context 0, scale 1"},
      {"yarn's betas",
       {one, table},
       with(RopeAxes::kOne, {}, {.ext_factor = 1, .beta_fast = 1, .original_context = 99}),
       kInvalidArgument,
       "rope_table: betas 1 and 1"},
      {"attention factor",
       {one, table},
       with(RopeAxes::kOne, {}, {.attn_factor = NAN}),
       kInvalidArgument,
       "rope_table: attn_factor is nan, expected a number from 0 up"},
  };
}

}  // namespace

std::vector<OpCases> rope_table_cases() {
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
  add_axes(out.cases);
  add_yarn(out.cases);
  for (WrongCall& wrong : wrong_axes()) out.wrong_calls.push_back(std::move(wrong));
  return {out};
}

}  // namespace mlxn::cases
