#include "mlxn/ops/matmul/quantise_rows.h"

#include <algorithm>
#include <limits>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/packed_values.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

OpCase make_case(uint64_t rows, uint64_t depth, Use use, Fill fill = uniform(-2, 2)) {
  Tensor output = rounded_rows(rows, depth);
  output.role = Role::kOut;
  return {.variant = "f32",
          .shape = str(rows, "x", depth),
          .tensors = {{kF32, {rows, depth}, Role::kIn, std::move(fill)}, std::move(output)},
          .encode = [](const Call& c) { return quantise_rows(c.encoder, {c[0], c[1]}); },
          .reference =
              [=](Values& v) { std::ranges::copy(rounded_words(v[0], rows, depth), v[1].begin()); },
          .tolerance = {},
          .flops = 4 * rows * depth,
          .use = use};
}

OpCase special(const char* what, std::vector<double> values) {
  OpCase out = make_case(2, 64, Use::kTest, exactly(std::move(values)));
  out.shape = what;
  return out;
}

}  // namespace

std::vector<OpCases> quantise_rows_cases() {
  OpCases out = {"quantise_rows",
                 "mlxn/ops/matmul/quantise_rows.h",
                 "y = round(x / s), s = max(abs x) / 127",
                 {},
                 {}};
  for (uint64_t rows : {1u, 2u, 4u, 5u, 8u, 9u, 16u, 17u, 33u}) {
    for (uint64_t depth : {32u, 96u, 576u}) out.cases.push_back(make_case(rows, depth, Use::kTest));
  }
  constexpr double kLargest = std::numeric_limits<float>::max();
  out.cases.push_back(special("zeros", {0.0, -0.0}));
  out.cases.push_back(
      special("ties", {127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, -126.5, 3, -127}));
  out.cases.push_back(special("ends", {kLargest, -kLargest, 1, 0x1p-140}));
  out.cases.push_back(special("tiny", {0x1p-121, 0x1p-149, -0x1p-130}));
  out.cases.push_back(special("small", {0x1p-120, -0x1p-121, 0x1p-127}));
  for (uint64_t rows : {1u, 8u, 512u}) out.cases.push_back(make_case(rows, 1536, Use::kBench));
  const auto call = [](const Call& c) { return quantise_rows(c.encoder, {c[0], c[1]}); };
  using enum ErrorCode;
  out.wrong_calls = {
      {"rows that split a block",
       {{kF32, {2, 40}}, {kI32, {1, 1, 4, 12}}},
       call,
       kShapeMismatch,
       "quantise_rows: rows of 40 elements, expected a multiple of 32"},
      {"input of another dtype",
       {{kF16, {2, 32}}, {kI32, {1, 1, 4, 12}}},
       call,
       kDtypeMismatch,
       "quantise_rows: input is f16, expected f32"},
      {"output in another tile",
       {{kF32, {2, 32}}, {kI32, {4, 1, 1, 12}}},
       call,
       kShapeMismatch,
       "quantise_rows: output has shape [4, 1, 1, 12], expected [1, 1, 4, 12]"},
      {"output too short",
       {{kF32, {17, 32}}, {kI32, {1, 1, 16, 12}}},
       call,
       kShapeMismatch,
       "quantise_rows: output has 192 elements, shape [1, 1, 16, 12], expected 384"},
  };
  return {out};
}

}  // namespace mlxn::cases
