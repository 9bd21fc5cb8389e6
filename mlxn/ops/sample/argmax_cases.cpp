#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/sample/argmax.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

void reference(Values& v) {
  const size_t dim = v[0].size() / v[1].size();
  for (size_t r = 0; r < v[1].size(); ++r) {
    const double* row = v[0].data() + r * dim;
    size_t best = 0;
    for (size_t i = 0; i < dim; ++i) {
      if (row[i] > row[best] || (std::isnan(row[best]) && !std::isnan(row[i]))) best = i;
    }
    v[1][r] = std::isnan(row[best]) ? 0 : double(best);
  }
}

OpCase make_case(std::string shape, uint64_t rows, uint64_t dim, Fill fill, Use use = Use::kTest) {
  return {.variant = "f32",
          .shape = std::move(shape),
          .tensors = {{kF32, {rows, dim}, Role::kIn, std::move(fill), {.sizes = {1}}},
                      {kU32, {rows}, Role::kOut}},
          .encode = [](const Call& call) { return argmax(call.encoder, {call[0], call[1]}); },
          .reference = reference,
          .flops = rows * dim,
          .use = use,
          .ledger = "B15.7"};
}

// Tensors: input, indices, values.
OpCase with_values(std::string shape, uint64_t rows, uint64_t dim, Fill fill) {
  OpCase out = make_case(std::move(shape), rows, dim, std::move(fill));
  out.variant = "f32 values";
  out.tensors.push_back({kF32, {rows}, Role::kOut});
  out.encode = [](const Call& c) { return argmax(c.encoder, {c[0], c[1], &c[2]}); };
  out.reference = [dim](Values& v) {
    reference(v);
    for (size_t r = 0; r < v[1].size(); ++r) {
      const double value = v[0][r * dim + static_cast<size_t>(v[1][r])];
      v[2][r] = std::isnan(value) ? -INFINITY : value;
    }
  };
  return out;
}

OpCase random_case(uint64_t rows, uint64_t dim, Use use) {
  return make_case(str(rows, "x", dim), rows, dim, uniform(-2, 2), use);
}

// So long that the kernel takes it in more than one stretch.
constexpr uint64_t kLong = 33001;

// A long row of `value` but for some places.
Fill all_but(double value, const std::vector<std::pair<uint64_t, double>>& places) {
  std::vector<double> row(kLong, value);
  for (const auto& [at, other] : places) row[at] = other;
  return exactly(std::move(row));
}

}  // namespace

std::vector<OpCases> argmax_cases() {
  OpCases out = {"argmax", "mlxn/ops/sample/argmax.h", "lowest index of the largest", {}, {}};
  for (uint64_t dim : {1u, 2u, 31u, 32u, 33u, 255u, 256u, 257u, 1000u, 49152u}) {
    out.cases.push_back(random_case(3, dim, Use::kTest));
  }
  out.cases.push_back(make_case("ties", 2, 1000, integers(0, 3)));
  out.cases.push_back(make_case("all equal", 2, 1000, exactly({-1})));
  out.cases.push_back(make_case("NaN among numbers", 3, 7, exactly({NAN, -5, NAN, 3, 3, NAN, -1})));
  out.cases.push_back(make_case("NaN alone", 2, 300, exactly({NAN})));
  out.cases.push_back(make_case("negative infinity alone", 2, 300, exactly({-INFINITY})));
  out.cases.push_back(make_case("NaN, then negative infinity", 2, 2, exactly({NAN, -INFINITY})));
  out.cases.push_back(make_case("infinities", 2, 4, exactly({1, INFINITY, INFINITY, NAN})));
  const auto late = all_but(0, {{20005, 1}, {20000, 1}, {2053, 1}, {4101, 1}, {33000, 1}});
  out.cases.push_back(with_values("late ties", 2, kLong, late));
  out.cases.push_back(with_values("the last", 1, kLong, all_but(-1, {{0, 0}, {kLong - 1, 1}})));
  const auto lowest = all_but(NAN, {{33000, -INFINITY}, {20005, -INFINITY}, {20032, -INFINITY}});
  out.cases.push_back(with_values("negative infinity among NaN", 2, kLong, lowest));
  out.cases.push_back(with_values("7x5", 7, 5, uniform(-2, 2)));
  out.cases.push_back(with_values("3x1000 ties", 3, 1000, integers(0, 3)));
  out.cases.push_back(with_values("NaN alone", 2, 300, exactly({NAN})));
  out.cases.push_back(with_values("NaN among numbers", 3, 7, exactly({NAN, -5, NAN, 3, 3})));
  out.cases.push_back(random_case(1, 49152, Use::kBench));
  out.cases.push_back(random_case(1, 262144, Use::kBench));
  const auto call = [](const Call& c) { return argmax(c.encoder, {c[0], c[1]}); };
  out.wrong_calls = {
      {"too few indices",
       {{kF32, {2, 8}}, {kU32, {1}}},
       call,
       ErrorCode::kShapeMismatch,
       "argmax: indices has 1 elements, shape [1], expected 2"},
      {"input of another dtype",
       {{kF16, {2, 8}}, {kU32, {2}}},
       call,
       ErrorCode::kDtypeMismatch,
       "argmax: input is f16, expected f32"},
  };
  return {out};
}

}  // namespace mlxn::cases
