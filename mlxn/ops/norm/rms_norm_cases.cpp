#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

constexpr float kEps = 1e-5f;
constexpr Dtype kFloats[] = {Dtype::kF32, Dtype::kF16, Dtype::kBf16};

struct Rows {
  uint64_t count, dim;
};
constexpr Rows kRows[] = {{1, 1},  {4, 8},   {2, 4},   {3, 5},   {7, 31},  {2, 33},
                          {3, 64}, {5, 255}, {1, 256}, {3, 257}, {2, 2816}};

Dtype weight_dtype(Dtype dtype) {
  return dtype == Dtype::kF16 ? Dtype::kF32 : dtype;
}

// Places of the tensors; the scale is there for rms_norm_mul alone.
enum { kInput, kWeight, kOutput, kScale };

void reference(Values& v, size_t output) {
  const size_t dim = v[kWeight].size();
  for (size_t begin = 0; begin < v[kInput].size(); begin += dim) {
    double squares = 0;
    for (size_t i = 0; i < dim; ++i) squares += v[kInput][begin + i] * v[kInput][begin + i];
    const double inverse = 1 / std::sqrt(squares / double(dim) + kEps);
    for (size_t i = 0; i < dim; ++i) {
      double y = v[kInput][begin + i] * inverse * v[kWeight][i];
      if (v.size() > kScale) y *= v[kScale][begin + i];
      v[output][begin + i] = y;
    }
  }
}

OpCase norm_case(Dtype dtype, Rows rows, Use use, bool in_place = false) {
  const Shape shape = {rows.count, rows.dim};
  const size_t output = in_place ? kInput : kOutput;
  OpCase out = {.variant = text(dtype),
                .shape = str(rows.count, "x", rows.dim, in_place ? " in place" : ""),
                .tensors = {{dtype, shape, in_place ? Role::kInOut : Role::kIn},
                            {weight_dtype(dtype), {rows.dim}}},
                .encode =
                    [output](const Call& call) {
                      return rms_norm(call.encoder,
                                      {call[kInput], call[kWeight], call[output], kEps});
                    },
                .reference = [output](Values& v) { reference(v, output); },
                .tolerance = {1e-5, precision(dtype) + 1e-6, 1e-7},
                .flops = 4 * rows.count * rows.dim,
                .use = use};
  if (!in_place) out.tensors.push_back({dtype, shape, Role::kOut});
  return out;
}

OpCase norm_mul_case(Dtype dtype, Rows rows, Use use) {
  OpCase out = norm_case(dtype, rows, use);
  out.tensors.push_back({dtype, {rows.count, rows.dim}});
  out.encode = [](const Call& call) {
    return rms_norm_mul(call.encoder,
                        {{call[kInput], call[kWeight], call[kOutput], kEps}, call[kScale]});
  };
  out.tolerance.relative = 2 * precision(dtype) + 1e-6;
  out.flops += rows.count * rows.dim;
  return out;
}

struct Shapes {
  std::pair<Dtype, Shape> input, weight, output;
};

WrongCall wrong(std::string what, const Shapes& shapes, float eps, ErrorCode code,
                std::string message) {
  return {std::move(what),
          [=](const Device& device, ComputeEncoder& encoder) -> Status {
            MLXN_ASSIGN(const Buffer x, device.alloc(shapes.input.first, shapes.input.second));
            MLXN_ASSIGN(const Buffer w, device.alloc(shapes.weight.first, shapes.weight.second));
            MLXN_ASSIGN(const Buffer y, device.alloc(shapes.output.first, shapes.output.second));
            return rms_norm(encoder, {x, w, y, eps});
          },
          code, std::move(message)};
}

std::vector<WrongCall> wrong_calls() {
  using enum Dtype;
  using enum ErrorCode;
  const Shapes right = {{kF32, {2, 8}}, {kF32, {8}}, {kF32, {16}}};
  return {
      wrong("weight of another length", {right.input, {kF32, {16}}, right.output}, kEps,
            kShapeMismatch, "rms_norm: weight has 16 elements, shape [16], expected 8"),
      wrong("weight of another dtype", {{kF16, {2, 8}}, {kF16, {8}}, {kF16, {2, 8}}}, kEps,
            kDtypeMismatch, "rms_norm: weight is f16, expected f32"),
      wrong("output too short", {right.input, right.weight, {kF32, {8}}}, kEps, kShapeMismatch,
            "rms_norm: output has 8 elements, shape [8], expected 16"),
      wrong("no float", {{kU32, {2, 8}}, right.weight, right.output}, kEps, kDtypeMismatch,
            "rms_norm: dtype u32, expected f32, f16 or bf16"),
      wrong("negative eps", right, -1, kInvalidArgument,
            "rms_norm: eps -1, expected a number from 0 up"),
      wrong("eps NaN", right, NAN, kInvalidArgument, "rms_norm: eps nan"),
  };
}

std::vector<WrongCall> wrong_mul_calls() {
  return {{"scale of another length",
           [](const Device& device, ComputeEncoder& encoder) -> Status {
             MLXN_ASSIGN(const Buffer x, device.alloc(Dtype::kF32, {2, 8}));
             MLXN_ASSIGN(const Buffer w, device.alloc(Dtype::kF32, {8}));
             return rms_norm_mul(encoder, {{x, w, x, kEps}, w});
           },
           ErrorCode::kShapeMismatch,
           "rms_norm_mul: scale has 8 elements, shape [8], expected 16"}};
}

}  // namespace

std::vector<OpCases> rms_norm_cases() {
  const std::string header = "mlxn/ops/norm/rms_norm.h";
  OpCases norm = {"rms_norm", header, "x / sqrt(mean(x²) + eps) * w", {}, wrong_calls()};
  OpCases norm_mul = {
      "rms_norm_mul", header, "x / sqrt(mean(x²) + eps) * w * s", {}, wrong_mul_calls()};
  for (Dtype dtype : kFloats) {
    for (const Rows& rows : kRows) {
      norm.cases.push_back(norm_case(dtype, rows, Use::kTest));
      norm_mul.cases.push_back(norm_mul_case(dtype, rows, Use::kTest));
    }
    norm.cases.push_back(norm_case(dtype, {3, 300}, Use::kTest, true));
  }
  for (const Rows& rows : {Rows{1, 576}, Rows{1, 4096}, Rows{512, 576}, Rows{512, 4096}}) {
    norm.cases.push_back(norm_case(Dtype::kF32, rows, Use::kBench));
  }
  norm_mul.cases.push_back(norm_mul_case(Dtype::kF32, {512, 4096}, Use::kBench));
  return {norm, norm_mul};
}

}  // namespace mlxn::cases
