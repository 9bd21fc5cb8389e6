#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "mlxn/base/strings.h"
#include "mlxn/ops/sample/argsort.h"
#include "mlxn/ops/sample/top_k.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

// Places of a row's elements in order; equal ones keep theirs, NaN comes last.
std::vector<size_t> order_of(const double* row, size_t dim, bool descending) {
  std::vector<size_t> out(dim);
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::sort(out, [&](size_t a, size_t b) {
    const bool numbers = !std::isnan(row[a]) && !std::isnan(row[b]);
    if (numbers && row[a] != row[b]) return descending ? row[a] > row[b] : row[a] < row[b];
    if (std::isnan(row[a]) != std::isnan(row[b])) return std::isnan(row[b]);
    return a < b;
  });
  return out;
}

struct Input {
  std::string what;
  uint64_t rows, dim;
  Fill fill = uniform(-2, 2);
};

std::vector<Input> inputs() {
  std::vector<Input> out = {
      {"ties", 3, 100, integers(0, 3)},
      {"all equal", 2, 70, exactly({-1})},
      {"sorted", 1, 64, [](Random&, std::span<double> x) { std::iota(x.begin(), x.end(), -9.0); }},
      {"NaN among numbers", 3, 7, exactly({NAN, -5, NAN, 3, 3, NAN, -1})},
      {"infinities", 2, 5, exactly({-INFINITY, 1, INFINITY, NAN, -INFINITY})},
      {"negative infinity and NaN alone", 2, 100, exactly({NAN, -INFINITY, NAN})},
      {"zeros of both signs", 1, 40, exactly({0.0, -0.0, 1e-45, -1e-45, -0.0})},
      {"long with ties", 2, 2500, integers(0, 50)},
  };
  for (uint64_t dim : {1u, 2u, 31u, 33u, 128u, 257u, 1000u, 1023u, 1024u, 1025u, 2049u, 5000u}) {
    out.push_back({"", dim > 1000 ? 2u : 4u, dim});
  }
  return out;
}

OpCase argsort_case(const Input& input, bool descending, bool scratch, Use use = Use::kTest) {
  const Shape shape = {input.rows, input.dim};
  OpCase out = {.variant = descending ? "f32 falling" : "f32",
                .shape = str(input.rows, "x", input.dim, input.what.empty() ? "" : " ", input.what,
                             scratch ? " with scratch" : ""),
                .tensors = {{kF32, shape, Role::kIn, input.fill}, {kU32, shape, Role::kOut}},
                .encode =
                    [=](const Call& c) {
                      return argsort(c.encoder,
                                     {c[0], c[1], descending, scratch ? &c[2] : nullptr});
                    },
                .reference =
                    [=](Values& v) {
                      for (size_t begin = 0; begin < v[0].size(); begin += input.dim) {
                        const auto order = order_of(v[0].data() + begin, input.dim, descending);
                        std::ranges::copy(order, v[1].begin() + static_cast<ptrdiff_t>(begin));
                      }
                    },
                .use = use,
                .ledger = "B15.7"};
  if (!scratch) return out;
  out.variant += " scratch";
  out.tensors.push_back({kU32, shape, Role::kOut});
  // What is left there: the runs before the last pass, of twice a block.
  const auto sorted = out.reference;
  out.reference = [=](Values& v) {
    sorted(v);
    for (size_t begin = 0; begin < v[0].size(); begin += 1024) {
      const auto order =
          order_of(v[0].data() + begin, std::min(input.dim - begin, uint64_t{1024}), descending);
      for (size_t i = 0; i < order.size(); ++i) v[2][begin + i] = double(begin + order[i]);
    }
  };
  return out;
}

OpCases argsort_ops() {
  OpCases out = {"argsort", "mlxn/ops/sample/argsort.h", "order of elements", {}, {}};
  for (const Input& input : inputs()) {
    out.cases.push_back(argsort_case(input, false, false));
    out.cases.push_back(argsort_case(input, true, false));
  }
  out.cases.push_back(argsort_case({"", 1, 1500}, true, true));
  for (auto [rows, dim] : {std::pair(1, 256), std::pair(512, 128), std::pair(1, 65536)}) {
    out.cases.push_back(
        argsort_case({"", uint64_t(rows), uint64_t(dim)}, true, false, Use::kBench));
  }
  out.wrong_calls = {
      {"indices of floats",
       {{kF32, {2, 8}}, {kF32, {2, 8}}},
       [](const Call& c) { return argsort(c.encoder, {c[0], c[1]}); },
       kDtypeMismatch,
       "argsort: indices is f32, expected u32"},
      {"scratch that is the output",
       {{kF32, {2, 8}}, {kU32, {2, 8}}},
       [](const Call& c) { return argsort(c.encoder, {c[0], c[1], false, &c[1]}); },
       kInvalidArgument,
       "argsort: output and indices share memory"},
  };
  return out;
}

std::vector<double> nan_but_one() {
  std::vector<double> out(5000, NAN);
  out[3456] = -INFINITY;
  return out;
}

OpCase top_k_case(const Input& input, uint64_t k, Use use = Use::kTest) {
  return {.variant = "f32",
          .shape =
              str(k, " of ", input.rows, "x", input.dim, input.what.empty() ? "" : " ", input.what),
          .tensors = {{kF32, {input.rows, input.dim}, Role::kIn, input.fill, {.sizes = {1}}},
                      {kU32, {input.rows, k}, Role::kOut},
                      {kF32, {input.rows, k}, Role::kOut}},
          .encode = [](const Call& c) { return top_k(c.encoder, {c[0], c[1], c[2]}); },
          .reference =
              [=](Values& v) {
                for (size_t r = 0; r < input.rows; ++r) {
                  const auto order = order_of(v[0].data() + r * input.dim, input.dim, true);
                  for (size_t i = 0; i < k; ++i) {
                    v[1][r * k + i] = double(order[i]);
                    v[2][r * k + i] = v[0][r * input.dim + order[i]];
                  }
                }
              },
          .use = use};
}

OpCases top_k_ops() {
  OpCases out = {"top_k", "mlxn/ops/sample/top_k.h", "largest, falling", {}, {}};
  for (const Input& input : inputs()) {
    for (uint64_t k : std::set<uint64_t>{1, (input.dim + 2) / 3, input.dim}) {
      out.cases.push_back(top_k_case(input, k));
    }
  }
  for (uint64_t k : {128u, 129u, 1024u, 1025u}) out.cases.push_back(top_k_case({"", 2, 3000}, k));
  for (uint64_t k : {1u, 40u, 1000u}) {
    out.cases.push_back(top_k_case({"long", 2, 9001}, k));
    out.cases.push_back(top_k_case({"long with many ties", 2, 9001, integers(0, 2)}, k));
    out.cases.push_back(top_k_case({"long of NaN and one", 1, 5000, exactly(nan_but_one())}, k));
  }
  for (uint64_t k : {40u, 64u, 128u}) {
    out.cases.push_back(top_k_case({"", 1, 262144}, k, Use::kBench));
  }
  const auto call = [](const Call& c) { return top_k(c.encoder, {c[0], c[1], c[2]}); };
  out.wrong_calls = {
      {"more than there are",
       {{kF32, {1, 8}}, {kU32, {1, 9}}, {kF32, {1, 9}}},
       call,
       kOutOfRange,
       "top_k: 9 of rows of 8, expected from 1 to that many"},
      {"values of another number",
       {{kF32, {1, 8}}, {kU32, {1, 4}}, {kF32, {1, 5}}},
       call,
       kShapeMismatch,
       "top_k: values has 5 elements, shape [1, 5], expected 4"},
  };
  return out;
}

}  // namespace

std::vector<OpCases> sort_cases() {
  return {argsort_ops(), top_k_ops()};
}

}  // namespace mlxn::cases
