#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/activation/silu_mul.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

double silu_mul_of(double gate, double up) {
  return gate / (1 + std::exp(-gate)) * up;
}

OpCase make_case(Dtype dtype, uint64_t count, Use use, bool in_place = false) {
  const size_t output = in_place ? 0 : 2;
  OpCase out = {.variant = text(dtype),
                .shape = str(count, in_place ? " in place" : ""),
                .tensors = {{dtype, {count}, in_place ? Role::kInOut : Role::kIn, uniform(-20, 20)},
                            {dtype, {count}}},
                .encode =
                    [output](const Call& call) {
                      return silu_mul(call.encoder, {call[0], call[1], call[output]});
                    },
                .reference =
                    [output](Values& v) {
                      for (size_t i = 0; i < v[0].size(); ++i) {
                        v[output][i] = silu_mul_of(v[0][i], v[1][i]);
                      }
                    },
                .tolerance = {1e-5, precision(dtype) + 1e-6, dtype == kF16 ? 1e-7 : 1e-12},
                .flops = 4 * count,
                .use = use};
  if (!in_place) out.tensors.push_back({dtype, {count}, Role::kOut});
  return out;
}

// Far out the gate is open or shut; nothing overflows.
OpCase extremes() {
  OpCase out = make_case(kF32, 6, Use::kTest);
  out.shape = "extremes";
  out.tensors[0].fill = exactly({0, 200, -200, 3e38, -1e4, 88});
  out.tensors[1].fill = exactly({3, 2, 2, 1, 1, 1});
  out.tolerance = {1e-5, 1e-6, 1e-30};
  return out;
}

}  // namespace

std::vector<OpCases> silu_mul_cases() {
  OpCases out = {"silu_mul", "mlxn/ops/activation/silu_mul.h", "a / (1 + exp(-a)) * b", {}, {}};
  for (Dtype dtype : kFloats) {
    for (uint64_t count : {1u, 31u, 256u, 257u, 4099u}) {
      out.cases.push_back(make_case(dtype, count, Use::kTest));
    }
    out.cases.push_back(make_case(dtype, 100, Use::kTest, true));
  }
  out.cases.push_back(extremes());
  out.cases.push_back(make_case(kF32, 1536, Use::kBench));
  out.cases.push_back(make_case(kF32, 512 * 1536, Use::kBench));
  const auto call = [](const Call& c) { return silu_mul(c.encoder, {c[0], c[1], c[0]}); };
  out.wrong_calls = {
      {"up too short",
       {{kF32, {8}}, {kF32, {7}}},
       call,
       ErrorCode::kShapeMismatch,
       "silu_mul: up has 7 elements, shape [7], expected 8"},
      {"no float",
       {{kI32, {8}}, {kI32, {8}}},
       call,
       ErrorCode::kDtypeMismatch,
       "silu_mul: dtype i32, expected f32, f16 or bf16"},
  };
  return {out};
}

}  // namespace mlxn::cases
