#include "mlxn/ops/norm/group_norm.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t batch, channels, places;
  uint32_t groups;
  bool affine = true, in_place = false;
};

void reference(Values& v, const Setup& s) {
  const std::vector<double> x = v[0];
  std::vector<double>& y = v[s.in_place ? 0 : 1];
  const uint64_t dim = s.channels / s.groups * s.places;
  for (uint64_t begin = 0; begin < x.size(); begin += dim) {
    double mean = 0, variance = 0;
    for (uint64_t i = 0; i < dim; ++i) mean += x[begin + i] / double(dim);
    for (uint64_t i = 0; i < dim; ++i) variance += std::pow(x[begin + i] - mean, 2) / double(dim);
    for (uint64_t i = begin; i < begin + dim; ++i) {
      const uint64_t channel = i / s.places % s.channels;
      y[i] = (x[i] - mean) / std::sqrt(variance + double{1e-5f});
      if (s.affine) y[i] = y[i] * v[v.size() - 2][channel] + v[v.size() - 1][channel];
    }
  }
}

OpCase make_case(Dtype dtype, const Setup& s, Use use = Use::kTest) {
  const Shape shape = {s.batch, s.channels, s.places}, vector = {s.channels};
  const Dtype weight = dtype == kF16 ? kF32 : dtype;
  // Without weights any batch and any count of places will do.
  const bool alone = s.in_place && !s.affine;
  OpCase out = {
      .variant = str(text(dtype), s.affine ? " weight bias" : ""),
      .shape = str(s.batch, "x", s.channels, "x", s.places, " in ", s.groups,
                   s.in_place ? " in place" : ""),
      .tensors =
          {{dtype, shape, s.in_place ? Role::kInOut : Role::kIn, uniform(0, 3), {.all = alone}}},
      .encode =
          [s](const Call& c) {
            const size_t last = c.buffers.size() - 1;
            return group_norm(c.encoder, {.input = c[0],
                                          .output = c[s.in_place ? 0 : 1],
                                          .groups = s.groups,
                                          .weight = s.affine ? &c[last - 1] : nullptr,
                                          .bias = s.affine ? &c[last] : nullptr});
          },
      .reference = [s](Values& v) { reference(v, s); },
      .tolerance = {1e-5, precision(dtype) * 0.51 + 1e-6, 2e-6},
      .flops = 6 * s.batch * s.channels * s.places,
      .use = use};
  if (!s.in_place) out.tensors.push_back({dtype, shape, Role::kOut});
  if (s.affine) {
    out.tensors.push_back({weight, vector});
    out.tensors.push_back({weight, vector});
  }
  return out;
}

}  // namespace

std::vector<OpCases> group_norm_cases() {
  using enum ErrorCode;
  const auto with = [](uint32_t groups, float eps) {
    return [=](const Call& c) {
      return group_norm(c.encoder, {.input = c[0], .output = c[0], .groups = groups, .eps = eps});
    };
  };
  const std::pair<Dtype, Shape> image = {kF32, {2, 6, 5}};
  OpCases out = {"group_norm",
                 "mlxn/ops/norm/group_norm.h",
                 "(x - mean) / deviation * w + b",
                 {},
                 {{"groups that do not divide",
                   {image},
                   with(4, 0),
                   kShapeMismatch,
                   "group_norm: input has shape [2, 6, 5], expected [batch, channels, ...] with "
                   "channels in 4 groups"},
                  {"no groups", {image}, with(0, 0), kShapeMismatch, "in 0 groups"},
                  {"no channels", {{kF32, {6}}}, with(1, 0), kShapeMismatch, "shape [6]"},
                  {"eps", {image}, with(2, -1), kInvalidArgument, "group_norm: eps is -1"},
                  {"no float", {{kI32, {2, 6, 5}}}, with(2, 1), kDtypeMismatch, "dtype i32"}}};
  for (Dtype dtype : kFloats) {
    for (const Setup& s : {Setup{1, 4, 1, 2}, Setup{2, 6, 35, 3}, Setup{1, 6, 257, 1},
                           Setup{3, 4, 64, 4}, Setup{2, 60, 5, 3}, Setup{3, 96, 1, 2, false},
                           Setup{2, 6, 33, 3, false}, Setup{2, 6, 33, 2, true, true}})
      out.cases.push_back(make_case(dtype, s));
  }
  out.cases.push_back(make_case(kF32, {1, 32, 4096, 8}, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
