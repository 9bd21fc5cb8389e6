#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

constexpr float kEps = 1e-5f;

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

// Tensors: a, b, weight, output, and the sum unless it goes into a.
// Long enough that what is lost is seen in 8 bits.
constexpr Rows kLong = {1, 12800};

OpCase add_norm_case(Dtype dtype, Rows rows, Use use, bool in_place = false) {
  const Shape shape = {rows.count, rows.dim};
  const size_t sum = in_place ? 0 : 4;
  OpCase out = {.variant = text(dtype),
                .shape = str(rows.count, "x", rows.dim, in_place ? " in place" : ""),
                .tensors = {{dtype, shape, in_place ? Role::kInOut : Role::kIn},
                            {dtype, shape},
                            {weight_dtype(dtype), {rows.dim}},
                            {dtype, shape, Role::kOut}},
                .encode =
                    [sum](const Call& call) {
                      return add_rms_norm(call.encoder,
                                          {call[0], call[1], call[sum], call[2], call[3], kEps});
                    },
                .reference =
                    [sum](Values& v) {
                      for (size_t i = 0; i < v[0].size(); ++i) v[sum][i] = v[0][i] + v[1][i];
                      Values norm = {v[sum], v[2], v[3]};
                      reference(norm, kOutput);
                      v[3] = norm[kOutput];
                    },
                .tolerance = {1e-5, 3 * precision(dtype) + 1e-6, 2 * precision(dtype)},
                .flops = 5 * rows.count * rows.dim,
                .use = use};
  if (!in_place) out.tensors.push_back({dtype, shape, Role::kOut});
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum Dtype;
  using enum ErrorCode;
  const auto with = [](float eps) {
    return [eps](const Call& c) { return rms_norm(c.encoder, {c[0], c[1], c[2], eps}); };
  };
  const std::pair<Dtype, Shape> input = {kF32, {2, 8}}, weight = {kF32, {8}}, output = {kF32, {16}};
  return {
      {"weight of another length",
       {input, {kF32, {16}}, output},
       with(kEps),
       kShapeMismatch,
       "rms_norm: weight has 16 elements, shape [16], expected 8"},
      {"weight of another dtype",
       {{kF16, {2, 8}}, {kF16, {8}}, {kF16, {2, 8}}},
       with(kEps),
       kDtypeMismatch,
       "rms_norm: weight is f16, expected f32"},
      {"output too short",
       {input, weight, {kF32, {8}}},
       with(kEps),
       kShapeMismatch,
       "rms_norm: output has 8 elements, shape [8], expected 16"},
      {"no float",
       {{kU32, {2, 8}}, weight, output},
       with(kEps),
       kDtypeMismatch,
       "rms_norm: dtype u32, expected f32, f16 or bf16"},
      {"negative eps",
       {input, weight, output},
       with(-1),
       kInvalidArgument,
       "rms_norm: eps -1, expected a number from 0 up"},
      {"eps NaN", {input, weight, output}, with(NAN), kInvalidArgument, "rms_norm: eps nan"},
  };
}

std::vector<WrongCall> wrong_mul_calls() {
  return {{"scale of another length",
           {{Dtype::kF32, {2, 8}}, {Dtype::kF32, {8}}},
           [](const Call& c) { return rms_norm_mul(c.encoder, {{c[0], c[1], c[0], kEps}, c[1]}); },
           ErrorCode::kShapeMismatch,
           "rms_norm_mul: scale has 8 elements, shape [8], expected 16"}};
}

std::vector<WrongCall> wrong_add_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return add_rms_norm(c.encoder, {c[0], c[1], c[2], c[3], c[0], kEps});
  };
  const std::pair<Dtype, Shape> rows = {Dtype::kF32, {2, 8}}, row = {Dtype::kF32, {8}};
  return {
      {"b of another length",
       {rows, row, rows, row},
       call,
       kShapeMismatch,
       "add_rms_norm: b has 8 elements, shape [8], expected 16"},
      {"sum of another length",
       {rows, rows, row, row},
       call,
       kShapeMismatch,
       "add_rms_norm: sum has 8 elements, shape [8], expected 16"},
      {"one buffer for both results",
       {rows, rows, rows, row},
       [](const Call& c) { return add_rms_norm(c.encoder, {c[0], c[1], c[2], c[3], c[2], kEps}); },
       kInvalidArgument,
       "add_rms_norm: output and sum share memory"}};
}

}  // namespace

std::vector<OpCases> rms_norm_cases() {
  const std::string header = "mlxn/ops/norm/rms_norm.h";
  OpCases norm = {"rms_norm", header, "x / sqrt(mean(x²) + eps) * w", {}, wrong_calls()};
  OpCases norm_mul = {
      "rms_norm_mul", header, "x / sqrt(mean(x²) + eps) * w * s", {}, wrong_mul_calls()};
  OpCases add_norm = {
      "add_rms_norm", header, "s = a + b, s / sqrt(mean(s²) + eps) * w", {}, wrong_add_calls()};
  for (Dtype dtype : kFloats) {
    for (const Rows& rows : kRows) {
      add_norm.cases.push_back(add_norm_case(dtype, rows, Use::kTest));
      norm.cases.push_back(norm_case(dtype, rows, Use::kTest));
      norm_mul.cases.push_back(norm_mul_case(dtype, rows, Use::kTest));
    }
    norm.cases.push_back(norm_case(dtype, {3, 300}, Use::kTest, true));
    for (auto* cases : {&norm.cases, &norm_mul.cases, &add_norm.cases}) {
      const bool adds = cases == &add_norm.cases;
      OpCase one = adds                   ? add_norm_case(dtype, kLong, Use::kTest)
                   : cases == &norm.cases ? norm_case(dtype, kLong, Use::kTest)
                                          : norm_mul_case(dtype, kLong, Use::kTest);
      one.shape += " large, then small";
      one.tensors[0].fill = large_then_small(32, 64, 1);
      if (adds) one.tensors[1].fill = exactly({0});
      cases->push_back(one);
    }
    add_norm.cases.push_back(add_norm_case(dtype, {3, 300}, Use::kTest, true));
  }
  for (const Rows& rows : {Rows{1, 576}, Rows{1, 4096}, Rows{512, 576}, Rows{512, 4096}}) {
    norm.cases.push_back(norm_case(Dtype::kF32, rows, Use::kBench));
  }
  norm_mul.cases.push_back(norm_mul_case(Dtype::kF32, {512, 4096}, Use::kBench));
  add_norm.cases.push_back(add_norm_case(Dtype::kF32, {1, 576}, Use::kBench));
  add_norm.cases.push_back(add_norm_case(Dtype::kF32, {512, 4096}, Use::kBench));
  return {norm, norm_mul, add_norm};
}

}  // namespace mlxn::cases
