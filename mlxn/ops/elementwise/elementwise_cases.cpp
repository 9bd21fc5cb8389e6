#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using Op = Status (*)(ComputeEncoder&, const ElementwiseParams&);
using Scalar = double (*)(double, double);

constexpr Dtype kFloats[] = {Dtype::kF32, Dtype::kF16, Dtype::kBf16};

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

WrongCall wrong(Op op, std::string what, std::pair<Dtype, Shape> a, std::pair<Dtype, Shape> b,
                std::pair<Dtype, Shape> out, ErrorCode code, std::string message) {
  return {std::move(what),
          [=](const Device& device, ComputeEncoder& encoder) -> Status {
            MLXN_ASSIGN(const Buffer x, device.alloc(a.first, a.second));
            MLXN_ASSIGN(const Buffer y, device.alloc(b.first, b.second));
            MLXN_ASSIGN(const Buffer z, device.alloc(out.first, out.second));
            return op(encoder, {x, y, z});
          },
          code, std::move(message)};
}

std::vector<WrongCall> wrong_calls(Op op, const std::string& name) {
  using enum Dtype;
  using enum ErrorCode;
  return {
      wrong(op, "b too short", {kF32, {8}}, {kF32, {7}}, {kF32, {8}}, kShapeMismatch,
            name + ": b has 7 elements, shape [7], expected 8"),
      wrong(op, "output too short", {kF32, {8}}, {kF32, {2, 4}}, {kF32, {7}}, kShapeMismatch,
            name + ": output has 7 elements, shape [7], expected 8"),
      wrong(op, "another dtype", {kF32, {8}}, {kF16, {8}}, {kF32, {8}}, kDtypeMismatch,
            name + ": b is f16, expected f32"),
      wrong(op, "no float", {kU8, {8}}, {kU8, {8}}, {kU8, {8}}, kDtypeMismatch,
            name + ": dtype u8, expected f32, f16 or bf16"),
      {"empty buffer",
       [op](const Device& device, ComputeEncoder& encoder) -> Status {
         MLXN_ASSIGN(const Buffer a, device.alloc(kF32, {8}));
         return op(encoder, {a, Buffer(), a});
       },
       kInvalidArgument, name + ": b is empty"},
      {"overlap",
       [op](const Device& device, ComputeEncoder& encoder) -> Status {
         MLXN_ASSIGN(const Buffer parent, device.alloc(kF32, {9}));
         MLXN_ASSIGN(const Buffer a, parent.slice_view(0, 8));
         MLXN_ASSIGN(const Buffer output, parent.slice_view(4, 8));
         return op(encoder, {a, a, output});
       },
       kInvalidArgument, name + ": output and a share a part of their memory"},
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
