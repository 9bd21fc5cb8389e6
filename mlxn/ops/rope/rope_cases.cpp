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
  uint64_t rotary_dims = 0;  // 0: all
  bool in_place = false;
  Dtype dtype = kF32;
  uint32_t offset = 0;
  bool inverse = false;

  uint64_t rotary() const { return rotary_dims == 0 ? dim : rotary_dims; }
};

enum { kInput, kTable, kOutput };

// Where pair i of a head lies.
std::pair<uint64_t, uint64_t> elements(const Setup& s, uint64_t i) {
  const uint64_t half = s.dim / 2, quarter = s.dim / 4;
  switch (s.pairs) {
    case RopePairs::kAdjacent: return {s.offset + 2 * i, s.offset + 2 * i + 1};
    case RopePairs::kHalves: return {s.offset + i, s.offset + i + s.rotary() / 2};
    case RopePairs::kHeadHalves: return {i, i + half};
    case RopePairs::kQuarters: break;
  }
  return i < quarter ? std::pair(i, i + quarter) : std::pair(half + i - quarter, half + i);
}

void reference(Values& v, const Setup& s) {
  const std::vector<double> input = v[kInput];
  std::vector<double>& output = v[s.in_place ? kInput : kOutput];
  output = input;
  const uint64_t pairs = s.rotary() / 2;
  for (uint64_t row = 0; row < s.tokens * s.heads; ++row) {
    for (uint64_t i = 0; i < pairs; ++i) {
      const auto [first, second] = elements(s, i);
      const uint64_t a = row * s.dim + first, b = row * s.dim + second;
      const uint64_t entry = 2 * (row / s.heads * pairs + i);
      const double cosine = v[kTable][entry];
      const double sine = s.inverse ? -v[kTable][entry + 1] : v[kTable][entry + 1];
      output[a] = input[a] * cosine - input[b] * sine;
      output[b] = input[a] * sine + input[b] * cosine;
    }
  }
}

constexpr const char* kPairs[] = {" adjacent", " halves", " head halves", " quarters"};

OpCase make_case(const std::string& what, Setup s, Use use = Use::kTest) {
  const Shape shape = {s.tokens, s.heads, s.dim};
  OpCase out = {.variant = text(s.dtype),
                .shape = str(s.tokens, "x", s.heads, "x", s.dim, kPairs[int(s.pairs)], what),
                .tensors = {{s.dtype, shape, s.in_place ? Role::kInOut : Role::kIn},
                            {kF32, {s.tokens, s.rotary() / 2, 2}, Role::kIn, uniform(-1, 1)}},
                .encode =
                    [s](const Call& c) {
                      return rope(c.encoder, {.input = c[kInput],
                                              .table = c[kTable],
                                              .output = c[s.in_place ? kInput : kOutput],
                                              .pairs = s.pairs,
                                              .offset = s.offset,
                                              .inverse = s.inverse});
                    },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-13, 3e-7, 3e-7},
                .flops = 3 * s.tokens * s.heads * s.dim,
                .use = use};
  if (s.dtype != kF32) out.tolerance = {1e-5, precision(s.dtype) * 0.51, 3e-7};
  if (s.in_place) {
    out.tensors[kInput].accepts.sizes = {1, 2};  // heads, and elements that do not turn
  } else {
    out.tensors.push_back({s.dtype, shape, Role::kOut});
  }
  return out;
}

// There and back again, by a table of real turns.
OpCase there_and_back(Dtype dtype) {
  OpCase out = make_case(" there and back", {.tokens = 3, .heads = 2, .dim = 48, .dtype = dtype});
  out.tensors[kTable].fill = [](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); i += 2) {
      values[i] = std::cos(double(i) * 0.3);
      values[i + 1] = std::sin(double(i) * 0.3);
    }
  };
  out.encode = [](const Call& c) -> Status {
    MLXN_TRY(rope(c.encoder, {.input = c[kInput], .table = c[kTable], .output = c[kOutput]}));
    MLXN_TRY(c.encoder.memory_barrier());
    return rope(c.encoder,
                {.input = c[kOutput], .table = c[kTable], .output = c[kOutput], .inverse = true});
  };
  out.reference = [](Values& v) { v[kOutput] = v[kInput]; };
  out.tolerance = {1e-4, 1e-6, 2 * precision(dtype) + 1e-6};
  return out;
}

// What the kernels of one slice at the begin of f32 heads do not do.
void add_slices(std::vector<OpCase>& out) {
  for (const Dtype dtype : kFloats) {
    out.push_back(there_and_back(dtype));
    const Setup s = {.tokens = 3, .heads = 2, .dim = 48, .dtype = dtype};
    const auto add = [&](const std::string& what, auto change) {
      Setup changed = s;
      change(changed);
      out.push_back(make_case(what, changed));
      changed.in_place = true;
      out.push_back(make_case(what + " in place", changed));
      changed.inverse = true;
      out.push_back(make_case(what + " back", changed));
    };
    for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
      add("", [=](Setup& c) { c.pairs = pairs; });
      add(" from 10", [=](Setup& c) {
        c.pairs = pairs;
        c.offset = 10;
        c.rotary_dims = 26;
      });
      add(" to the end", [=](Setup& c) {
        c.pairs = pairs;
        c.offset = 33;
        c.rotary_dims = 14;
      });
    }
    add("", [](Setup& c) { c.pairs = RopePairs::kHeadHalves; });
    add(" partial", [](Setup& c) {
      c.pairs = RopePairs::kHeadHalves;
      c.rotary_dims = 18;
    });
    out.back().ledger = "B15.8";
    add("", [](Setup& c) { c.pairs = RopePairs::kQuarters; });
    add(" smallest", [](Setup& c) {
      c.pairs = RopePairs::kQuarters;
      c.dim = 4;
    });
  }
  const Setup qwen = {.tokens = 512,
                      .heads = 16,
                      .dim = 256,
                      .pairs = RopePairs::kHeadHalves,
                      .rotary_dims = 64,
                      .dtype = kBf16};
  out.push_back(make_case(" partial", qwen, Use::kBench));
  Setup own = qwen;
  own.in_place = true;
  out.push_back(make_case(" partial in place", own, Use::kBench));
  const Setup inverse = {
      .tokens = 512, .heads = 32, .dim = 128, .pairs = RopePairs::kHalves, .inverse = true};
  out.push_back(make_case(" back", inverse, Use::kBench));
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return rope(c.encoder, {.input = c[0], .table = c[1], .output = c[0]});
  };
  const auto into_table = [](const Call& c) {
    return rope(c.encoder, {.input = c[0], .table = c[1], .output = c[1]});
  };
  const auto with = [](RopePairs pairs, uint32_t offset) {
    return [=](const Call& c) {
      return rope(c.encoder,
                  {.input = c[0], .table = c[1], .output = c[0], .pairs = pairs, .offset = offset});
    };
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 3, 8}}, table = {kF32, {2, 4, 2}},
                                half_table = {kF32, {2, 2, 2}};
  return {
      {"a slice past the head",
       {input, half_table},
       with(RopePairs::kHalves, 5),
       kInvalidArgument,
       "rope: offset is 5, expected at most 4 for 2 pairs of heads of 8"},
      {"an offset of head halves",
       {input, half_table},
       with(RopePairs::kHeadHalves, 2),
       kInvalidArgument,
       "rope: offset is 2 and there are 2 pairs of heads of 8, expected 0"},
      {"quarters of a part",
       {input, half_table},
       with(RopePairs::kQuarters, 0),
       kInvalidArgument,
       "rope: offset is 0 and there are 2 pairs of heads of 8"},
      {"quarters of six",
       {{kF32, {2, 3, 6}}, {kF32, {2, 3, 2}}},
       with(RopePairs::kQuarters, 0),
       kInvalidArgument,
       "rope: offset is 0 and there are 3 pairs of heads of 6"},
      {"no float", {{kI32, {2, 3, 8}}, table}, call, kDtypeMismatch, "rope: dtype i32"},
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
  add_slices(out.cases);
  return {out};
}

}  // namespace mlxn::cases
