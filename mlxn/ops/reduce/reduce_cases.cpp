#include "mlxn/ops/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using Row = std::span<const double>;

double largest(Row x) {
  return *std::ranges::max_element(x);
}
double sum(Row x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

struct Function {
  ReduceKind kind;
  const char* name;
  double (*of)(Row x);
  double low = -2, high = 2;
};
const Function kFunctions[] = {
    {ReduceKind::kSum, "sum", sum, 0, 2},
    {ReduceKind::kMean, "mean", [](Row x) { return sum(x) / double(x.size()); }, 0, 2},
    {ReduceKind::kMax, "max", largest},
    {ReduceKind::kMin, "min", [](Row x) { return *std::ranges::min_element(x); }},
    {ReduceKind::kProduct, "product",
     [](Row x) { return std::accumulate(x.begin(), x.end(), 1.0, std::multiplies<>()); }, 0.9, 1.1},
    {ReduceKind::kLogSumExp, "logsumexp",
     [](Row x) {
       double total = 0;
       for (const double value : x) total += std::exp(value - largest(x));
       return std::log(total) + largest(x);
     },
     -8, 8},
};

OpCase make_case(Dtype dtype, const Function& f, uint64_t rows, uint64_t columns,
                 Use use = Use::kTest) {
  const bool picks = f.kind == ReduceKind::kMax || f.kind == ReduceKind::kMin;
  const double steps = f.kind == ReduceKind::kProduct ? std::sqrt(double(columns)) : 1;
  return {.variant = text(dtype),
          .shape = str(f.name, " ", rows, "x", columns),
          // Any length of rows.
          .tensors = {{dtype, {rows, columns}, Role::kIn, uniform(f.low, f.high), {.sizes = {1}}},
                      {kF32, {rows}, Role::kOut}},
          .encode =
              [kind = f.kind](const Call& c) {
                return reduce(c.encoder, {.input = c[0], .output = c[1], .kind = kind});
              },
          .reference =
              [=, of = f.of](Values& v) {
                for (uint64_t r = 0; r < rows; ++r)
                  v[1][r] = of(Row(v[0]).subspan(r * columns, columns));
              },
          .tolerance = picks ? Tolerance{} : Tolerance{1e-10, 8e-7 * steps, 3e-7},
          .flops = rows * columns,
          .use = use};
}

OpCase values_case(const Function& f, const std::string& what, std::vector<double> inputs,
                   double expected) {
  OpCase out = make_case(kF32, f, 1, inputs.size());
  out.shape = str(f.name, " ", what);
  out.tensors[0].fill = exactly(std::move(inputs));
  out.reference = [=](Values& v) { v[1] = {expected}; };
  out.tolerance = {1e-10, 3e-7, 0};
  return out;
}

void add_special(std::vector<OpCase>& out) {
  const auto& [sums, means, most, least, products, logs] = kFunctions;
  constexpr double kInf = INFINITY;
  out.push_back(values_case(sums, "NaN", {1, NAN, 2}, NAN));
  out.push_back(values_case(sums, "infinity", {1, kInf, 2}, kInf));
  out.push_back(values_case(sums, "both infinities", {-kInf, kInf, 2}, NAN));
  out.push_back(values_case(means, "large", {1e38, 1e38, 1e38}, 1e38));
  out.push_back(values_case(most, "beside NaN", {NAN, -3, NAN, -4}, -3));
  out.push_back(values_case(most, "of nothing", {NAN, NAN}, -kInf));
  out.push_back(values_case(least, "beside NaN", {NAN, -3, NAN, -4}, -4));
  out.push_back(values_case(least, "of nothing", {NAN, NAN}, kInf));
  out.push_back(values_case(least, "infinity", {kInf, kInf}, kInf));
  out.push_back(values_case(products, "zero", {5, 0, 3}, 0));
  out.push_back(values_case(products, "signs", {-5, 2, -3, -1}, -30));
  out.push_back(values_case(logs, "large", {1000, 1000}, 1000 + M_LN2));
  out.push_back(values_case(logs, "small", {-1000, -1000, -kInf}, -1000 + M_LN2));
  out.push_back(values_case(logs, "of nothing", {-kInf, -kInf}, -kInf));
  out.push_back(values_case(logs, "infinity", {kInf, 3, -kInf}, kInf));
  out.push_back(values_case(logs, "NaN", {1, NAN, 2}, NAN));
}

}  // namespace

std::vector<OpCases> reduce_cases() {
  using enum ErrorCode;
  const auto with = [](ReduceKind kind) {
    return [=](const Call& c) {
      return reduce(c.encoder, {.input = c[0], .output = c[1], .kind = kind});
    };
  };
  OpCases out = {"reduce",
                 "mlxn/ops/reduce/reduce.h",
                 "sum, mean, max, min, product, logsumexp",
                 {},
                 {{"no kind",
                   {{kF32, {2, 4}}, {kF32, {2}}},
                   with(ReduceKind::kCount),
                   kInvalidArgument,
                   "reduce: kind 6, expected less than 6"},
                  {"no float",
                   {{kI32, {2, 4}}, {kF32, {2}}},
                   with(ReduceKind::kSum),
                   kDtypeMismatch,
                   "reduce: dtype i32, expected f32, f16 or bf16"},
                  {"one number of two rows",
                   {{kF32, {2, 4}}, {kF32, {1}}},
                   with(ReduceKind::kSum),
                   kShapeMismatch,
                   "reduce: output has 1 elements, shape [1], expected 2"}}};
  for (const Function& f : kFunctions) {
    for (Dtype dtype : kFloats) {
      for (const uint64_t columns : {1u, 31u, 33u, 257u})
        out.cases.push_back(make_case(dtype, f, 3, columns));
    }
    out.cases.push_back(make_case(kF32, f, 2, 9001));
  }
  out.cases.push_back(make_case(kF32, kFunctions[0], 1, 150001));
  add_special(out.cases);
  for (const size_t i : {0, 2, 5}) {
    out.cases.push_back(make_case(kF32, kFunctions[i], 512, 4096, Use::kBench));
    out.cases.push_back(make_case(kF32, kFunctions[i], 1, 1 << 22, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
