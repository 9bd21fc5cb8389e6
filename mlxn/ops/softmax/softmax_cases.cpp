#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/softmax/softmax.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

struct Rows {
  uint64_t count, dim;
};
constexpr Rows kRows[] = {{1, 1},  {4, 8},   {2, 4},   {3, 5},   {7, 31},
                          {2, 33}, {5, 255}, {1, 256}, {3, 257}, {2, 2816}};

void reference(const std::vector<double>& in, size_t dim, std::vector<double>& out) {
  for (size_t begin = 0; begin < in.size(); begin += dim) {
    const double most = *std::max_element(in.begin() + begin, in.begin() + begin + dim);
    double total = 0;
    for (size_t i = begin; i < begin + dim; ++i) total += std::exp(in[i] - most);
    for (size_t i = begin; i < begin + dim; ++i) out[i] = std::exp(in[i] - most) / total;
  }
}

OpCase make_case(Dtype dtype, Rows rows, Use use, Fill fill = uniform(-8, 8)) {
  const Shape shape = {rows.count, rows.dim};
  return {.variant = text(dtype),
          .shape = str(rows.count, "x", rows.dim),
          .tensors = {{dtype, shape, Role::kIn, std::move(fill)}, {dtype, shape, Role::kOut}},
          .encode = [](const Call& call) { return softmax(call.encoder, {call[0], call[1]}); },
          .reference = [dim = rows.dim](Values& v) { reference(v[0], dim, v[1]); },
          .tolerance = {1e-5, precision(dtype) + 2e-6, 1e-7},
          .flops = 4 * rows.count * rows.dim,
          .use = use};
}

OpCase in_place(Dtype dtype) {
  OpCase out = make_case(dtype, {3, 300}, Use::kTest);
  out.shape += " in place";
  out.tensors = {{dtype, {3, 300}, Role::kInOut}};
  out.encode = [](const Call& call) { return softmax(call.encoder, {call[0], call[0]}); };
  out.reference = [](Values& v) { reference(std::vector<double>(v[0]), 300, v[0]); };
  return out;
}

// Long enough that what a narrow sum loses is seen in 8 bits.
OpCase large_then_small_case(Dtype dtype) {
  OpCase out = make_case(dtype, {1, 12800}, Use::kTest, large_then_small(32, 0, -8));
  out.shape += " large, then small";
  return out;
}

// Large numbers do not overflow; what is far below the largest vanishes.
OpCase large_numbers(Dtype dtype) {
  OpCase out = make_case(dtype, {1, 4}, Use::kTest, exactly({1000, 1000, -1000, -INFINITY}));
  out.shape = "large numbers";
  out.reference = [](Values& v) { v[1] = {0.5, 0.5, 0, 0}; };
  out.tolerance = {};
  return out;
}

}  // namespace

std::vector<OpCases> softmax_cases() {
  using enum ErrorCode;
  OpCases out = {"softmax", "mlxn/ops/softmax/softmax.h", "exp(x) / sum(exp(x))", {}, {}};
  for (Dtype dtype : kFloats) {
    for (const Rows& rows : kRows) out.cases.push_back(make_case(dtype, rows, Use::kTest));
    out.cases.push_back(in_place(dtype));
    out.cases.push_back(large_numbers(dtype));
    out.cases.push_back(large_then_small_case(dtype));
  }
  out.cases.push_back(make_case(Dtype::kF32, {1, 49152}, Use::kBench));
  out.cases.push_back(make_case(Dtype::kF32, {512, 4096}, Use::kBench));
  out.wrong_calls = {
      {"output too short",
       {{Dtype::kF32, {2, 8}}, {Dtype::kF32, {8}}},
       [](const Call& c) { return softmax(c.encoder, {c[0], c[1]}); },
       kShapeMismatch,
       "softmax: output has 8 elements, shape [8], expected 16"},
      {"empty buffer",
       {{Dtype::kF32, {8}}},
       [](const Call& c) { return softmax(c.encoder, {Buffer(), c[0]}); },
       kDtypeMismatch,
       "softmax: dtype u8, expected f32, f16 or bf16"},
  };
  return {out};
}

}  // namespace mlxn::cases
