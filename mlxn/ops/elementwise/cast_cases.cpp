#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/cast.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Pair {
  Dtype from, to;
};
constexpr Pair kPairs[] = {{kF32, kF16},  {kF32, kBf16}, {kF16, kF32}, {kF16, kBf16}, {kBf16, kF32},
                           {kBf16, kF16}, {kF32, kI32},  {kF32, kU32}, {kI32, kF32},  {kU32, kF32}};

// Exact: floats are rounded by the harness.
double converted(double value, Dtype to) {
  if (info(to).is_float) return value;
  if (std::isnan(value)) return 0;
  const double low = to == kI32 ? INT32_MIN : 0, high = to == kI32 ? INT32_MAX : UINT32_MAX;
  return std::clamp(std::trunc(value), low, high);
}

OpCase cast_case(Pair pair, const std::string& what, uint64_t count, Fill fill,
                 Use use = Use::kTest) {
  return {
      .variant = str(to_string(pair.from), " to ", to_string(pair.to)),
      .shape = str(what, count),
      .tensors = {{pair.from, {count}, Role::kIn, std::move(fill)}, {pair.to, {count}, Role::kOut}},
      .encode = [](const Call& c) { return cast(c.encoder, {c[0], c[1]}); },
      .reference =
          [to = pair.to](Values& v) {
            for (size_t i = 0; i < v[0].size(); ++i) v[1][i] = converted(v[0][i], to);
          },
      .flops = count,
      .use = use};
}

Fill numbers(Pair pair) {
  if (pair.from == kU32) return integers(0, UINT32_MAX);
  if (pair.from == kI32) return uniform(INT32_MIN, INT32_MAX);
  return pair.to == kU32 ? uniform(0, 1e6) : uniform(-70000, 70000);
}

void add_edges(std::vector<OpCase>& out) {
  const Fill edges = exactly(
      {0.0,           -0.0,          INFINITY,      -INFINITY,     NAN,          65504,
       65519,         65520,         3.4e38,        1e-8,          5.9e-8,       2.9e-8,
       1.00048828125, 1.00146484375, 1.00390625,    1.01171875,    4294967040.0, 4294967296.0,
       2147483520.0,  2147483648.0,  -2147483648.0, -2147483904.0, -0.99,        0.99,
       -1.5,          16777217});
  for (const Pair& pair : kPairs) {
    if (info(pair.from).is_float) out.push_back(cast_case(pair, "edges ", 26, edges));
  }
  const Fill ties = exactly({16777217, 16777219, 2147483647, 0, 1, 33554434});
  out.push_back(cast_case({kI32, kF32}, "ties ", 6, ties));
  out.push_back(cast_case({kU32, kF32}, "ties ", 6, ties));
}

OpCase fill_case(Dtype dtype, uint64_t count, double value, Use use = Use::kTest) {
  return {.variant = text(dtype),
          .shape = str(count, " of ", value),
          .tensors = {{dtype, {count}, Role::kOut, {}, {.sizes = {0}}}},
          .encode = [=](const Call& c) { return fill(c.encoder, {c[0], value}); },
          .reference = [=](Values& v) { std::ranges::fill(v[0], value); },
          .flops = count,
          .use = use};
}

std::vector<WrongCall> wrong_fills() {
  using enum ErrorCode;
  const auto with = [](double value) {
    return [=](const Call& c) { return fill(c.encoder, {c[0], value}); };
  };
  return {{"half of a whole number",
           {{kI32, {4}}},
           with(0.5),
           kInvalidArgument,
           "fill: value 0.5, expected one that i32 can hold"},
          {"negative", {{kU32, {4}}}, with(-1), kInvalidArgument, "fill: value -1"},
          {"too large", {{kI32, {4}}}, with(4e9), kInvalidArgument, "fill: value 4e+09"},
          {"no number", {{kU32, {4}}}, with(NAN), kInvalidArgument, "fill: value nan"},
          {"bytes",
           {{kU8, {4}}},
           with(0),
           kDtypeMismatch,
           "fill: output is u8, expected f32, f16, bf16, i32 or u32"}};
}

OpCases fill_cases() {
  OpCases out = {"fill", "mlxn/ops/elementwise/cast.h", "value", {}, wrong_fills()};
  for (Dtype dtype : kFloats) {
    for (double value : {0.0, -1.7, 1e9, double(NAN)})
      out.cases.push_back(fill_case(dtype, 257, value));
    out.cases.push_back(fill_case(dtype, 1, 0.1));
  }
  for (double value : {-7.0, 2147483647.0, -2147483648.0})
    out.cases.push_back(fill_case(kI32, 300, value));
  for (double value : {0.0, 4294967295.0}) out.cases.push_back(fill_case(kU32, 300, value));
  out.cases.push_back(fill_case(kF32, 1 << 22, 1, Use::kBench));
  return out;
}

}  // namespace

std::vector<OpCases> cast_cases() {
  using enum ErrorCode;
  const auto call = [](const Call& c) { return cast(c.encoder, {c[0], c[1]}); };
  OpCases out = {
      "cast",
      "mlxn/ops/elementwise/cast.h",
      "x",
      {},
      {{"to bytes",
        {{kF32, {8}}, {kU8, {8}}},
        call,
        kDtypeMismatch,
        "cast: from f32 to u8, expected two of f32, f16 and bf16, or f32 and i32 or u32"},
       {"to the same", {{kF16, {8}}, {kF16, {8}}}, call, kDtypeMismatch, "f16 to f16"},
       {"half to a whole number", {{kF16, {8}}, {kI32, {8}}}, call, kDtypeMismatch, "f16 to i32"}}};
  for (const Pair& pair : kPairs) {
    for (uint64_t count : {1u, 31u, 1025u})
      out.cases.push_back(cast_case(pair, "", count, numbers(pair)));
  }
  add_edges(out.cases);
  for (Pair pair : {Pair{kF32, kBf16}, Pair{kF32, kF16}, Pair{kBf16, kF32}}) {
    const uint64_t count = uint64_t{2455} * 16 * 256;
    out.cases.push_back(cast_case(pair, "", count, uniform(-2, 2), Use::kBench));
  }
  return {out, fill_cases()};
}

}  // namespace mlxn::cases
