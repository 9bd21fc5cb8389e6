#include "mlxn/ops/norm/head_norm_rope.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/optional_tensors.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

constexpr float kEps = 1e-5f;

struct Setup {
  Dtype dtype = kF32;
  uint64_t tokens = 3, heads = 2, dim = 64;
  uint64_t pairs = 32;  // 0: no table
  bool weight = true, copy = false, copy_permuted = false, permuted = false, in_place = false;
  RopePairs places = RopePairs::kHeadHalves;
  uint32_t offset = 0;
};

// Tensors: input, then those of weight, table, output, copy and permuted that there are.
enum Which { kInput, kWeight, kTable, kOutput, kCopy, kPermuted, kTensors };

bool has(const Setup& s, int tensor) {
  const bool there[] = {true, s.weight, s.pairs > 0, !s.in_place, s.copy, s.permuted};
  return there[tensor];
}

size_t place(const Setup& s, int tensor) {
  return place_among(tensor, [&](int i) { return has(s, i); });
}

void turn(std::vector<double>& head, const Setup& s, const double* table) {
  const std::vector<double> x = head;
  for (uint64_t i = 0; i < s.pairs; ++i) {
    uint64_t a = s.offset + i, b = a + s.pairs;
    if (s.places == RopePairs::kAdjacent) {
      a = s.offset + 2 * i;
      b = a + 1;
    } else if (s.places == RopePairs::kHeadHalves) {
      b = a + s.dim / 2;
    } else if (s.places == RopePairs::kQuarters) {
      a = i < s.dim / 4 ? i : i + s.dim / 4;
      b = a + s.dim / 4;
    }
    head[a] = x[a] * table[2 * i] - x[b] * table[2 * i + 1];
    head[b] = x[a] * table[2 * i + 1] + x[b] * table[2 * i];
  }
}

void reference(Values& v, const Setup& s) {
  const Values in = v;
  const size_t output = s.in_place ? 0 : place(s, kOutput);
  for (uint64_t row = 0; row < s.tokens * s.heads; ++row) {
    std::vector<double> head(in[0].begin() + row * s.dim, in[0].begin() + (row + 1) * s.dim);
    double squares = 0;
    for (const double x : head) squares += x * x;
    for (uint64_t i = 0; i < s.dim; ++i) {
      head[i] /= std::sqrt(squares / double(s.dim) + double{kEps});
      if (s.weight) head[i] *= in[place(s, kWeight)][i];
    }
    const uint64_t token = row / s.heads;
    if (s.pairs > 0) turn(head, s, &in[place(s, kTable)][token * s.pairs * 2]);
    const uint64_t other = row % s.heads * s.tokens + token;
    for (uint64_t i = 0; i < s.dim; ++i) {
      v[output][row * s.dim + i] = head[i];
      if (s.copy) v[place(s, kCopy)][(s.copy_permuted ? other : row) * s.dim + i] = head[i];
      if (s.permuted) v[place(s, kPermuted)][other * s.dim + i] = head[i];
    }
  }
}

Status encode(const Call& c, const Setup& s) {
  const auto tensor = [&](int i, bool wanted) { return wanted ? &c[place(s, i)] : nullptr; };
  return head_norm_rope(c.encoder, {.input = c[0],
                                    .output = c[s.in_place ? 0 : place(s, kOutput)],
                                    .table = tensor(kTable, s.pairs > 0),
                                    .weight = tensor(kWeight, s.weight),
                                    .eps = kEps,
                                    .pairs = s.places,
                                    .offset = s.offset,
                                    .copy = tensor(kCopy, s.copy),
                                    .copy_permuted = s.copy_permuted,
                                    .permuted = tensor(kPermuted, s.permuted)});
}

OpCase make_case(const std::string& what, const Setup& s, Use use = Use::kTest) {
  const Shape whole = {s.tokens, s.heads, s.dim};
  // What goes together is a variant once, of f32.
  const std::string options = what.empty() ? "" : " " + what;
  OpCase out = {.variant = s.dtype == kF32 ? "f32" + options : text(s.dtype),
                .shape = str(s.tokens, "x", s.heads, "x", s.dim, " ", s.pairs, " pairs",
                             s.dtype == kF32 ? "" : options),
                .tensors = {},
                .encode = [s](const Call& c) { return encode(c, s); },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-5, precision(s.dtype) * 0.51 + 1e-6, 1e-6},
                .flops = 8 * s.tokens * s.heads * s.dim,
                .use = use};
  if (s.copy) out.tolerance.relative = 0x1p-8 * 1.01 + 1e-6;
  const Dtype weight = s.dtype == kF16 ? kF32 : s.dtype;
  const Role result = s.in_place ? Role::kInOut : Role::kIn;
  const Tensor tensors[] = {{s.dtype, whole, result},
                            {weight, {s.dim}},
                            {kF32, {s.tokens, s.pairs, 2}, Role::kIn, uniform(-1, 1)},
                            {s.dtype, whole, Role::kOut},
                            {kBf16, whole, Role::kOut},
                            {s.dtype, whole, Role::kOut}};
  for (int i = 0; i < kTensors; ++i)
    if (has(s, i)) out.tensors.push_back(tensors[i]);
  // With an output that is the input heads are free, and tokens where no table knows them; and the
  // table may turn fewer pairs or more.
  if (s.in_place && s.pairs == 0) out.tensors[0].accepts.sizes = {0, 1};
  if (s.in_place && s.pairs > 0) out.tensors[0].accepts.sizes = {1};
  if (s.pairs > 0) out.tensors[place(s, kTable)].accepts.sizes = {1};
  return out;
}

void add_variants(std::vector<OpCase>& out, Dtype dtype) {
  const auto add = [&](const std::string& what, auto change, const char* ledger = "") {
    Setup s = {.dtype = dtype};
    change(s);
    out.push_back(make_case(what, s));
    out.back().ledger = ledger;
  };
  for (const uint64_t dim : {2u, 64u, 128u, 256u, 512u})
    add(
        "",
        [=](Setup& s) {
          s.dim = dim;
          s.pairs = dim / 2;
        },
        dim > 256 ? "B15.2" : "");
  add("", [](Setup& s) { s.dim = 72, s.pairs = 20; });
  add("no weight", [](Setup& s) { s.weight = false; });
  add("no turn", [](Setup& s) { s.pairs = 0; });
  add("no turn no weight", [](Setup& s) { s.pairs = 0, s.weight = false, s.dim = 34; });
  add("halves", [](Setup& s) { s.places = RopePairs::kHalves, s.pairs = 12; }, "B15.13");
  add("halves behind", [](Setup& s) {
    s.places = RopePairs::kHalves;
    s.pairs = 12;
    s.offset = 9;
  });
  add("adjacent", [](Setup& s) { s.places = RopePairs::kAdjacent, s.pairs = 12; });
  add("copy", [](Setup& s) { s.copy = true; });
  add("copy permuted", [](Setup& s) { s.copy = s.copy_permuted = true; });
  add("permuted", [](Setup& s) { s.permuted = true; }, "B15.6");
  add("copy and permuted", [](Setup& s) { s.copy = s.permuted = true; }, "B15.6");
  add("both permuted", [](Setup& s) { s.copy = s.copy_permuted = s.permuted = true; });
  out.push_back(make_case("", {.dtype = dtype, .tokens = 2, .dim = 96, .pairs = 48}));
  out.back().shape += " large";  // squares past what half a float holds
  out.back().tensors[0].fill = uniform(-500, 500);
  out.push_back(
      make_case("", {.dtype = dtype, .dim = 40, .pairs = 20, .places = RopePairs::kQuarters}));
  out.back().shape += " quarters";
  add("in place", [](Setup& s) { s.in_place = true, s.weight = false, s.pairs = 24; });
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto with = [](auto change) {
    return [=](const Call& c) {
      HeadNormRopeParams params = {.input = c[0], .output = c[0]};
      change(params, c);
      return head_norm_rope(c.encoder, params);
    };
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 3, 8}}, table = {kF32, {2, 4, 2}};
  return {
      {"odd heads",
       {{kF32, {2, 3, 7}}},
       with([](HeadNormRopeParams&, const Call&) {}),
       kShapeMismatch,
       "head_norm_rope: input has shape [2, 3, 7], expected [tokens, heads, dim] with even dim"},
      {"more pairs than there are",
       {input, {kF32, {2, 5, 2}}},
       with([](HeadNormRopeParams& p, const Call& c) { p.table = &c[1]; }),
       kShapeMismatch,
       "head_norm_rope: table has shape [2, 5, 2]"},
      {"a slice past the head",
       {input, table},
       with([](HeadNormRopeParams& p, const Call& c) {
         p.table = &c[1];
         p.pairs = RopePairs::kHalves;
         p.offset = 1;
       }),
       kInvalidArgument,
       "head_norm_rope: offset is 1, expected at most 0"},
      {"order of no copy",
       {input},
       with([](HeadNormRopeParams& p, const Call&) { p.copy_permuted = true; }),
       kInvalidArgument,
       "head_norm_rope: copy_permuted without a copy"},
      {"eps",
       {input},
       with([](HeadNormRopeParams& p, const Call&) { p.eps = -1; }),
       kInvalidArgument,
       "head_norm_rope: eps is -1, expected a number from 0 up"},
      {"permuted in place",
       {input},
       with([](HeadNormRopeParams& p, const Call& c) { p.permuted = &c[0]; }),
       kInvalidArgument,
       "head_norm_rope: output and permuted share memory"},
  };
}

}  // namespace

std::vector<OpCases> head_norm_rope_cases() {
  OpCases out = {"head_norm_rope",
                 "mlxn/ops/norm/head_norm_rope.h",
                 "rope(x / rms(x) * w)",
                 {},
                 wrong_calls()};
  for (Dtype dtype : kFloats) add_variants(out.cases, dtype);
  const Setup decode = {.tokens = 1, .heads = 16, .dim = 256, .pairs = 128};
  out.cases.push_back(make_case("", decode, Use::kBench));
  const Setup prefill = {.tokens = 2455, .heads = 16, .dim = 256, .pairs = 128};
  out.cases.push_back(make_case("", prefill, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
