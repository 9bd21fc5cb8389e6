#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/elementwise/binary.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using Scalar = double (*)(double, double);
struct Function {
  BinaryKind kind;
  const char* name;
  Scalar of;
};
const Function kFunctions[] = {
    {BinaryKind::kAdd, "add", [](double a, double b) { return a + b; }},
    {BinaryKind::kSub, "sub", [](double a, double b) { return a - b; }},
    {BinaryKind::kMul, "mul", [](double a, double b) { return a * b; }},
    {BinaryKind::kDiv, "div", [](double a, double b) { return a / b; }},
    {BinaryKind::kMin, "min", [](double a, double b) { return std::fmin(a, b); }},
    {BinaryKind::kMax, "max", [](double a, double b) { return std::fmax(a, b); }},
};

// The element of a tensor that is repeated, where the whole has element `i`.
size_t element(size_t i, const Shape& own, const Shape& all) {
  size_t at = 0, stride = 1;
  for (size_t d = 0; d < all.size(); ++d) {
    const uint64_t size = all[all.size() - 1 - d], place = i % size;
    i /= size;
    if (d >= own.size()) continue;
    const uint64_t own_size = own[own.size() - 1 - d];
    at += own_size == 1 ? 0 : place * stride;
    stride *= own_size;
  }
  return at;
}

struct Setup {
  Shape a, b, output;
  size_t result = 2;  // the tensor that the output is
};

OpCase make_case(Dtype dtype, const Function& f, const Setup& s, Use use = Use::kTest) {
  const auto role = [&](size_t i) { return s.result == i ? Role::kInOut : Role::kIn; };
  OpCase out = {
      .variant = text(dtype),
      .shape =
          str(f.name, " ", s.a.to_string(), " ", s.b.to_string(), s.result == 2 ? "" : " in place"),
      .tensors = {{dtype, s.a, role(0), uniform(-2, 2)}, {dtype, s.b, role(1), uniform(0.5, 3)}},
      .encode =
          [=](const Call& c) {
            return binary(c.encoder, {.a = c[0], .b = c[1], .output = c[s.result], .kind = f.kind});
          },
      .reference =
          [=](Values& v) {
            const std::vector<double> a = v[0], b = v[1];
            for (size_t i = 0; i < v[s.result].size(); ++i)
              v[s.result][i] = f.of(a[element(i, s.a, s.output)], b[element(i, s.b, s.output)]);
          },
      .flops = *s.output.element_count(),
      .use = use};
  // Division of floats is rounded once on the way to f16 and bf16 too, which is seen rarely.
  if (f.kind == BinaryKind::kDiv) out.tolerance = {1e-5, precision(dtype) * 0.6 + 1e-7, 1e-7};
  if (s.result == 2) out.tensors.push_back({dtype, s.output, Role::kOut});
  return out;
}

OpCase special_values() {
  OpCase out = make_case(Dtype::kF32, kFunctions[5], {{4}, {4}, {4}});
  out.shape = "max of NaN";
  out.tensors[0].fill = exactly({NAN, 1, NAN, -INFINITY});
  out.tensors[1].fill = exactly({2, NAN, NAN, INFINITY});
  return out;
}

const Setup kBroadcasts[] = {
    {{3, 40}, {40}, {3, 40}},
    {{40}, {3, 40}, {3, 40}},
    {{3, 40}, {3, 1}, {3, 40}},
    {{3, 1}, {3, 40}, {3, 40}},
    {{5, 3, 7}, {1}, {5, 3, 7}},
    {{5, 1}, {1, 7}, {5, 7}},
    {{2, 3, 4, 5}, {3, 1, 5}, {2, 3, 4, 5}},
    {{2, 1, 4, 1}, {3, 1, 5}, {2, 3, 4, 5}},
    {{2, 3, 4, 33}, {2, 1, 4, 33}, {2, 3, 4, 33}},
    {{1, 1, 1, 9}, {2, 3, 1, 1}, {2, 3, 1, 9}},
    {{2, 3, 4, 65}, {4, 65}, {2, 3, 4, 65}},
};

std::vector<WrongCall> wrong_calls() {
  using enum Dtype;
  using enum ErrorCode;
  const auto call = [](const Call& c) {
    return binary(c.encoder, {.a = c[0], .b = c[1], .output = c[2], .kind = BinaryKind::kAdd});
  };
  return {
      {"shapes that do not go together",
       {{kF32, {3, 4}}, {kF32, {3}}, {kF32, {3, 4}}},
       call,
       kShapeMismatch,
       "binary: a has shape [3, 4], b [3] and the output [3, 4], expected equal sizes or 1"},
      {"output too small",
       {{kF32, {3, 4}}, {kF32, {4}}, {kF32, {4}}},
       call,
       kShapeMismatch,
       "the output [4], expected equal sizes or 1"},
      {"five dimensions",
       {{kF32, {1, 1, 1, 1, 2}}, {kF32, {2}}, {kF32, {2}}},
       call,
       kShapeMismatch,
       "binary: a has shape [1, 1, 1, 1, 2], expected at most 4 dimensions"},
      {"into what is repeated",
       {{kF32, {2, 4}}, {kF32, {4}}},
       [](const Call& c) -> Status {
         MLXN_ASSIGN(const Buffer row, c[0].slice_view(0, 4));
         return binary(c.encoder, {.a = c[0], .b = row, .output = c[0], .kind = BinaryKind::kAdd});
       },
       kInvalidArgument,
       "binary: output and b share memory, expected none in common"},
      {"no kind",
       {{kF32, {4}}},
       [](const Call& c) {
         return binary(c.encoder,
                       {.a = c[0], .b = c[0], .output = c[0], .kind = BinaryKind::kCount});
       },
       kInvalidArgument,
       "binary: kind 6, expected less than 6"},
      {"no float",
       {{kI32, {4}}, {kI32, {4}}, {kI32, {4}}},
       call,
       kDtypeMismatch,
       "binary: dtype i32, expected f32, f16 or bf16"},
  };
}

}  // namespace

std::vector<OpCases> binary_cases() {
  OpCases out = {"binary", "mlxn/ops/elementwise/binary.h", "a op b", {}, wrong_calls()};
  for (const Function& f : kFunctions) {
    for (Dtype dtype : kFloats) {
      out.cases.push_back(make_case(dtype, f, {{257}, {257}, {257}}));
      out.cases.push_back(make_case(dtype, f, {{3, 31}, {31}, {3, 31}}));
    }
  }
  for (Dtype dtype : kFloats) out.cases.push_back(make_case(dtype, kFunctions[0], {{1}, {1}, {1}}));
  for (const Setup& s : kBroadcasts) {
    out.cases.push_back(make_case(Dtype::kF32, kFunctions[1], s));
    out.cases.push_back(make_case(Dtype::kBf16, kFunctions[3], s));
  }
  out.cases.push_back(make_case(Dtype::kF32, kFunctions[1], {{4, 40}, {4, 40}, {4, 40}, 0}));
  out.cases.push_back(make_case(Dtype::kF32, kFunctions[1], {{4, 1}, {4, 40}, {4, 40}, 1}));
  out.cases.push_back(make_case(Dtype::kF16, kFunctions[1], {{4, 40}, {40}, {4, 40}, 0}));
  out.cases.push_back(special_values());
  for (const Setup& s :
       {Setup{{2048, 2048}, {2048, 2048}, {2048, 2048}}, Setup{{2048, 2048}, {2048}, {2048, 2048}},
        Setup{{2048, 2048}, {2048, 1}, {2048, 2048}}})
    out.cases.push_back(make_case(Dtype::kF32, kFunctions[1], s, Use::kBench));
  return {out};
}

}  // namespace mlxn::cases
