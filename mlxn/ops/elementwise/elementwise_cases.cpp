#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using Op = Status (*)(ComputeEncoder&, const ElementwiseParams&);
using Scalar = double (*)(double, double);

OpCase make_case(Op op, Scalar scalar, Dtype dtype, uint64_t count, Use use) {
  return {
      .variant = text(dtype),
      .shape = str(count),
      .tensors = {{dtype, {count}}, {dtype, {count}}, {dtype, {count}, Role::kOut}},
      .encode = [op](const Call& call) { return op(call.encoder, {call[0], call[1], call[2]}); },
      .reference =
          [scalar](Values& v) {
            for (size_t i = 0; i < v[2].size(); ++i) v[2][i] = scalar(v[0][i], v[1][i]);
          },
      .flops = count,
      .use = use};
}

OpCase in_place(Op op, Scalar scalar, Dtype dtype) {
  return {
      .variant = text(dtype),
      .shape = "in place",
      .tensors = {{dtype, {100}, Role::kInOut}, {dtype, {100}}},
      .encode = [op](const Call& call) { return op(call.encoder, {call[0], call[1], call[0]}); },
      .reference =
          [scalar](Values& v) {
            for (size_t i = 0; i < v[0].size(); ++i) v[0][i] = scalar(v[0][i], v[1][i]);
          }};
}

std::vector<WrongCall> wrong_calls(Op op, const std::string& name) {
  using enum Dtype;
  using enum ErrorCode;
  const auto call = [op](const Call& c) { return op(c.encoder, {c[0], c[1], c[2]}); };
  const std::pair<Dtype, Shape> eight = {kF32, {8}}, seven = {kF32, {7}}, bytes = {kU8, {8}};
  return {
      {"b too short",
       {eight, seven, eight},
       call,
       kShapeMismatch,
       name + ": b has 7 elements, shape [7], expected 8"},
      {"output too short",
       {eight, {kF32, {2, 4}}, seven},
       call,
       kShapeMismatch,
       name + ": output has 7 elements, shape [7], expected 8"},
      {"another dtype",
       {eight, {kF16, {8}}, eight},
       call,
       kDtypeMismatch,
       name + ": b is f16, expected f32"},
      {"no float",
       {bytes, bytes, bytes},
       call,
       kDtypeMismatch,
       name + ": dtype u8, expected f32, f16 or bf16"},
      {"empty buffer",
       {eight},
       [op](const Call& c) { return op(c.encoder, {c[0], Buffer(), c[0]}); },
       kInvalidArgument,
       name + ": b is empty"},
      {"overlap",
       {{kF32, {9}}},
       [op](const Call& c) -> Status {
         MLXN_ASSIGN(const Buffer a, c[0].slice_view(0, 8));
         MLXN_ASSIGN(const Buffer output, c[0].slice_view(4, 8));
         return op(c.encoder, {a, a, output});
       },
       kInvalidArgument,
       name + ": output and a share a part of their memory"},
  };
}

OpCases make_op(const std::string& name, const std::string& formula, Op op, Scalar scalar) {
  OpCases out = {name, "mlxn/ops/elementwise/elementwise.h", formula, {}, wrong_calls(op, name)};
  for (Dtype dtype : kFloats) {
    for (uint64_t count : {1u, 2u, 31u, 256u, 257u, 4099u}) {
      out.cases.push_back(make_case(op, scalar, dtype, count, Use::kTest));
    }
    out.cases.push_back(in_place(op, scalar, dtype));
  }
  out.cases.push_back(make_case(op, scalar, Dtype::kF32, 576, Use::kBench));
  out.cases.push_back(make_case(op, scalar, Dtype::kF32, 1 << 22, Use::kBench));
  return out;
}

}  // namespace

std::vector<OpCases> elementwise_cases() {
  return {make_op("elementwise_add", "a + b", elementwise_add,
                  [](double a, double b) { return a + b; }),
          make_op("elementwise_mul", "a * b", elementwise_mul,
                  [](double a, double b) { return a * b; })};
}

}  // namespace mlxn::cases
