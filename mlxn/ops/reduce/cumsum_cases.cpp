#include "mlxn/ops/reduce/cumsum.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t rows, columns;
  bool exclusive = false, reverse = false, in_place = false;
};

void reference(Values& v, const Setup& s) {
  const std::vector<double> x = v[0];
  for (uint64_t r = 0; r < s.rows; ++r) {
    double total = 0;
    for (uint64_t i = 0; i < s.columns; ++i) {
      const uint64_t at = r * s.columns + (s.reverse ? s.columns - 1 - i : i);
      v[s.in_place ? 0 : 1][at] = s.exclusive ? total : total + x[at];
      total += x[at];
    }
  }
}

OpCase make_case(Dtype dtype, const Setup& s, Fill fill = uniform(0, 1), Use use = Use::kTest) {
  const Shape shape = {s.rows, s.columns};
  OpCase out = {.variant = text(dtype),
                .shape = str(s.rows, "x", s.columns, s.exclusive ? " exclusive" : "",
                             s.reverse ? " reverse" : "", s.in_place ? " in place" : ""),
                .tensors = {{dtype, shape, s.in_place ? Role::kInOut : Role::kIn, std::move(fill)}},
                .encode =
                    [s](const Call& c) {
                      return cumsum(c.encoder, {.input = c[0],
                                                .output = c[s.in_place ? 0 : 1],
                                                .exclusive = s.exclusive,
                                                .reverse = s.reverse});
                    },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-5, precision(dtype) * 0.51 + 1e-6, 1e-6},
                .flops = s.rows * s.columns,
                .use = use};
  if (!s.in_place) out.tensors.push_back({dtype, shape, Role::kOut});
  return out;
}

// Whole numbers below 2^24: exact, whatever the order.
OpCase whole_numbers(const Setup& s, uint64_t most) {
  OpCase out = make_case(kF32, s, integers(0, most));
  out.shape += " whole numbers";
  out.tolerance = {};
  return out;
}

}  // namespace

std::vector<OpCases> cumsum_cases() {
  using enum ErrorCode;
  OpCases out = {"cumsum",
                 "mlxn/ops/reduce/cumsum.h",
                 "x[0] + ... + x[i]",
                 {},
                 {{"no float",
                   {{kI32, {2, 4}}},
                   [](const Call& c) { return cumsum(c.encoder, {c[0], c[0]}); },
                   kDtypeMismatch,
                   "cumsum: dtype i32, expected f32, f16 or bf16"}}};
  for (Dtype dtype : kFloats) {
    for (const uint64_t columns : {1u, 7u, 8u, 9u, 31u, 255u, 256u, 257u, 513u})
      out.cases.push_back(make_case(dtype, {3, columns}));
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        out.cases.push_back(make_case(dtype, {2, 300, exclusive, reverse, reverse}));
  }
  out.cases.push_back(whole_numbers({1, 16384}, 1000));
  out.cases.push_back(whole_numbers({2, 9001, true, true}, 1000));
  out.cases.push_back(make_case(kF32, {1, 100003}));
  OpCase special = make_case(kF32, {1, 5}, exactly({1, INFINITY, 2, -INFINITY, 3}));
  special.shape = "infinities";
  special.reference = [](Values& v) { v[1] = {1, INFINITY, INFINITY, NAN, NAN}; };
  out.cases.push_back(special);
  out.cases.push_back(make_case(kF32, {512, 4096}, uniform(0, 1), Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
