#include "mlxn/ops/softmax/masked_softmax.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/optional_tensors.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t batch = 1, heads = 1, queries = 1, columns = 1;
  float scale = 1;
  bool mask = false, slopes = false, sinks = false, in_place = false;
  Dtype dtype = kF32, mask_dtype = kBf16;
};

enum Which { kInput, kMask, kSlopes, kSinks, kOutput, kTensors };

bool has(const Setup& s, int tensor) {
  const bool there[] = {true, s.mask, s.slopes, s.sinks, !s.in_place};
  return there[tensor];
}

size_t place(const Setup& s, int tensor) {
  return place_among(tensor, [&](int i) { return has(s, i); });
}

void reference(Values& v, const Setup& s) {
  std::vector<double>& output = v[s.in_place ? 0 : place(s, kOutput)];
  for (uint64_t r = 0; r < s.batch * s.heads * s.queries; ++r) {
    const uint64_t query = r % s.queries, head = r / s.queries % s.heads;
    std::vector<double> x(s.columns);
    for (uint64_t i = 0; i < s.columns; ++i) {
      x[i] = v[0][r * s.columns + i] * double{s.scale};
      if (!s.mask) continue;
      const double hidden = v[place(s, kMask)][query * s.columns + i];
      const double slope = s.slopes ? v[place(s, kSlopes)][head] : 1;
      x[i] += hidden == -INFINITY ? hidden : slope * hidden;
    }
    double most = *std::ranges::max_element(x);
    if (s.sinks) most = std::max(most, v[place(s, kSinks)][head]);
    double total = s.sinks ? std::exp(v[place(s, kSinks)][head] - most) : 0;
    for (const double value : x) total += std::exp(value - most);
    for (uint64_t i = 0; i < s.columns; ++i)
      output[r * s.columns + i] = most == -INFINITY ? 0 : std::exp(x[i] - most) / total;
  }
}

Status encode(const Call& c, const Setup& s) {
  const auto tensor = [&](int i, bool wanted) { return wanted ? &c[place(s, i)] : nullptr; };
  return masked_softmax(c.encoder, {.input = c[0],
                                    .output = c[s.in_place ? 0 : place(s, kOutput)],
                                    .scale = s.scale,
                                    .mask = tensor(kMask, s.mask),
                                    .slopes = tensor(kSlopes, s.slopes),
                                    .sinks = tensor(kSinks, s.sinks)});
}

// As a causal mask, of queries at the end of the columns.
Fill causal(const Setup& s) {
  return [=](Random&, std::span<double> values) {
    for (uint64_t q = 0; q < s.queries; ++q)
      for (uint64_t i = 0; i < s.columns; ++i)
        values[q * s.columns + i] = i + s.queries > s.columns + q ? -INFINITY : 0;
  };
}

OpCase make_case(const std::string& what, const Setup& s, Use use = Use::kTest) {
  const Shape whole = {s.batch, s.heads, s.queries, s.columns};
  const std::string options =
      str(s.mask ? " mask " : "", s.mask ? text(s.mask_dtype) : "", s.slopes ? " slopes" : "",
          s.sinks ? " sinks" : "", s.in_place ? " in place" : "");
  // What goes together is a variant once, of f32.
  const bool is_variant = s.dtype == kF32 && s.mask_dtype == kF32;
  OpCase out = {.variant = is_variant ? "f32" + options : text(s.dtype),
                .shape = str(whole.to_string(), what, is_variant ? "" : options),
                .tensors = {},
                .encode = [s](const Call& c) { return encode(c, s); },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-5, precision(s.dtype) * 0.51 + 2e-6, 1e-7},
                .flops = 4 * s.batch * s.heads * s.queries * s.columns,
                .use = use};
  const Fill mask = s.slopes ? uniform(-3, 0) : causal(s);
  const Tensor tensors[] = {{s.dtype, whole, s.in_place ? Role::kInOut : Role::kIn, uniform(-8, 8)},
                            {s.mask_dtype, {s.queries, s.columns}, Role::kIn, mask},
                            {kF32, {s.heads}, Role::kIn, uniform(0.1, 1)},
                            {kF32, {s.heads}, Role::kIn, uniform(-4, 9)},
                            {s.dtype, whole, Role::kOut}};
  for (int i = 0; i < kTensors; ++i)
    if (has(s, i)) out.tensors.push_back(tensors[i]);
  if (s.in_place) {  // any that the others do not know
    out.tensors[0].accepts.sizes = {0};
    if (!s.slopes && !s.sinks) out.tensors[0].accepts.sizes.push_back(1);
    if (!s.mask) out.tensors[0].accepts.sizes.push_back(2);
    if (!s.mask) out.tensors[0].accepts.sizes.push_back(3);
  }
  return out;
}

void add_of_dtype(std::vector<OpCase>& out, Dtype dtype) {
  for (const uint64_t columns : {1u, 31u, 33u, 65u, 99u, 129u, 257u}) {
    Setup s = {
        .heads = 2, .queries = 3, .columns = columns, .scale = 0.5f, .mask = true, .dtype = dtype};
    s.queries = std::min<uint64_t>(columns, 3);
    out.push_back(make_case("", s));
    out.back().ledger = "B15.5";
  }
  for (const Dtype mask : kFloats) {
    Setup s = {.batch = 2,
               .heads = 3,
               .queries = 5,
               .columns = 40,
               .scale = 0.0625f,
               .mask = true,
               .dtype = dtype,
               .mask_dtype = mask};
    out.push_back(make_case("", s));
    s.slopes = true;
    out.push_back(make_case("", s));
    s.sinks = true;
    out.push_back(make_case("", s));
    s.in_place = true;
    out.push_back(make_case("", s));
  }
  // Many small numbers beside ones: a sum of half the bits loses them.
  out.push_back(make_case(" small numbers", {.columns = 20000, .dtype = dtype}));
  out.back().tensors[0].fill = [](Random&, std::span<double> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = i < 256 ? 0 : -8;
  };
  out.push_back(make_case("", {.heads = 4, .columns = 70, .sinks = true, .dtype = dtype}));
  out.push_back(make_case("", {.heads = 5, .queries = 3, .columns = 64, .dtype = dtype}));
  out.push_back(make_case("", {.heads = 5, .columns = 64, .in_place = true, .dtype = dtype}));
}

// Rows that see nothing, scores that are hidden or far apart, NaN.
void add_special(std::vector<OpCase>& out) {
  const Setup s = {.heads = 2, .queries = 2, .columns = 35, .mask = true, .mask_dtype = kF32};
  {
    OpCase zeros = make_case(" all hidden", s);
    zeros.tensors[1].fill = exactly({-INFINITY});
    zeros.ledger = "B15.5";
    out.push_back(zeros);
  }
  Setup sinks = s;
  sinks.sinks = true;
  out.push_back(make_case(" all hidden", sinks));
  out.back().tensors[1].fill = exactly({-INFINITY});
  Setup slopes = s;
  slopes.slopes = true;
  out.push_back(make_case(" hidden at slope zero", slopes));
  out.back().tensors[1].fill = exactly({-INFINITY, -1, -2});
  out.back().tensors[2].fill = exactly({0, 0.5});
  const Setup plain = {.columns = 4};
  out.push_back(make_case(" far apart", plain));
  out.back().tensors[0].fill = exactly({1000, 1000, -1000, -INFINITY});
  out.push_back(make_case(" all -infinity", plain));
  out.back().tensors[0].fill = exactly({-INFINITY});
  out.push_back(make_case(" NaN", plain));
  out.back().tensors[0].fill = exactly({1, NAN, -INFINITY, 2});
  out.back().reference = [](Values& v) { v[1] = {NAN, NAN, NAN, NAN}; };
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto with = [](auto change) {
    return [=](const Call& c) {
      MaskedSoftmaxParams params = {.input = c[0], .output = c[0]};
      change(params, c);
      return masked_softmax(c.encoder, params);
    };
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 3, 8}}, heads = {kF32, {2}};
  return {
      {"mask of whole numbers",
       {input, {kI32, {3, 8}}},
       with([](MaskedSoftmaxParams& p, const Call& c) { p.mask = &c[1]; }),
       kDtypeMismatch,
       "masked_softmax: mask is i32, expected f32, f16 or bf16"},
      {"mask of one row",
       {input, {kF32, {8}}},
       with([](MaskedSoftmaxParams& p, const Call& c) { p.mask = &c[1]; }),
       kShapeMismatch,
       "masked_softmax: mask has 8 elements, shape [8], expected 24"},
      {"slopes without a mask",
       {input, heads},
       with([](MaskedSoftmaxParams& p, const Call& c) { p.slopes = &c[1]; }),
       kInvalidArgument,
       "masked_softmax: slopes without a mask"},
      {"sinks without heads",
       {{kF32, {3, 8}}, {kF32, {1}}},
       with([](MaskedSoftmaxParams& p, const Call& c) { p.sinks = &c[1]; }),
       kShapeMismatch,
       "masked_softmax: input has shape [3, 8], expected at least 3 dimensions"},
      {"scale",
       {input},
       with([](MaskedSoftmaxParams& p, const Call&) { p.scale = INFINITY; }),
       kInvalidArgument,
       "masked_softmax: scale is inf, expected a finite number"},
  };
}

}  // namespace

std::vector<OpCases> masked_softmax_cases() {
  OpCases out = {"masked_softmax",
                 "mlxn/ops/softmax/masked_softmax.h",
                 "softmax(x * scale + slope * mask)",
                 {},
                 wrong_calls()};
  for (Dtype dtype : kFloats) add_of_dtype(out.cases, dtype);
  add_special(out.cases);
  for (const Setup& s : {Setup{1, 1, 1, 64, 0.125f, true}, Setup{1, 1, 8, 8, 0.125f, true},
                         Setup{1, 4, 16, 16, 0.0625f, true}, Setup{1, 4, 128, 128, 0.0625f, true}})
    out.cases.push_back(make_case(" causal", s));
  const Setup prefill = {
      .heads = 16, .queries = 512, .columns = 512, .scale = 0.0625f, .mask = true};
  out.cases.push_back(make_case("", prefill, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
