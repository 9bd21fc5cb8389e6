#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/add_row.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

OpCase make_case(Dtype dtype, uint64_t rows, uint64_t dim, Use use) {
  return {
      .variant = text(dtype),
      .shape = str(rows, "x", dim),
      .tensors = {{dtype, {rows, dim}}, {dtype, {dim}}, {dtype, {rows, dim}, Role::kOut}},
      .encode = [](const Call& call) { return add_row(call.encoder, {call[0], call[1], call[2]}); },
      .reference =
          [dim](Values& v) {
            for (size_t i = 0; i < v[2].size(); ++i) v[2][i] = v[0][i] + v[1][i % dim];
          },
      .flops = rows * dim,
      .use = use};
}

OpCase in_place(Dtype dtype) {
  return {
      .variant = text(dtype),
      .shape = "in place",
      .tensors = {{dtype, {3, 40}, Role::kInOut}, {dtype, {40}}},
      .encode = [](const Call& call) { return add_row(call.encoder, {call[0], call[1], call[0]}); },
      .reference =
          [](Values& v) {
            for (size_t i = 0; i < v[0].size(); ++i) v[0][i] = v[0][i] + v[1][i % 40];
          }};
}

std::vector<WrongCall> wrong_calls() {
  using enum Dtype;
  using enum ErrorCode;
  const auto call = [](const Call& c) { return add_row(c.encoder, {c[0], c[1], c[2]}); };
  const std::pair<Dtype, Shape> matrix = {kF32, {2, 8}}, row = {kF32, {8}}, bytes = {kU8, {8}};
  return {
      {"row too short",
       {matrix, {kF32, {7}}, matrix},
       call,
       kShapeMismatch,
       "add_row: row has 7 elements, shape [7], expected 8"},
      {"output too short",
       {matrix, row, row},
       call,
       kShapeMismatch,
       "add_row: output has 8 elements, shape [8], expected 16"},
      {"another dtype",
       {matrix, {kF16, {8}}, matrix},
       call,
       kDtypeMismatch,
       "add_row: row is f16, expected f32"},
      {"no float",
       {bytes, bytes, bytes},
       call,
       kDtypeMismatch,
       "add_row: dtype u8, expected f32, f16 or bf16"},
      {"row within the output",
       {row},
       [](const Call& c) { return add_row(c.encoder, {c[0], c[0], c[0]}); },
       kInvalidArgument,
       "add_row: output and row share"},
      {"empty buffer",
       {row},
       [](const Call& c) { return add_row(c.encoder, {c[0], Buffer(), c[0]}); },
       kInvalidArgument,
       "add_row: row is empty"},
  };
}

}  // namespace

std::vector<OpCases> add_row_cases() {
  OpCases out = {"add_row", "mlxn/ops/elementwise/add_row.h", "input + row", {}, wrong_calls()};
  for (Dtype dtype : kFloats) {
    for (uint64_t rows : {1u, 3u, 17u}) {
      for (uint64_t dim : {1u, 31u, 256u, 577u})
        out.cases.push_back(make_case(dtype, rows, dim, Use::kTest));
    }
    out.cases.push_back(in_place(dtype));
  }
  out.cases.push_back(make_case(Dtype::kF32, 1, 896, Use::kBench));
  out.cases.push_back(make_case(Dtype::kF32, 512, 896, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
