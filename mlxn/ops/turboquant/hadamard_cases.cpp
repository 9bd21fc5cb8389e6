#include "mlxn/ops/turboquant/hadamard.h"

#include <bit>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/turboquant/signs.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t rows, dim;
  HadamardSigns signs = HadamardSigns::kNone;
  bool in_place = false;
};

double sign(uint64_t i) {
  return kTurboQuantSigns[i / 8] >> (i % 8) & 1 ? -1 : 1;
}

// By the matrix's elements: the sign is the parity of the bits that both indices have.
void reference(Values& v, const Setup& s) {
  const std::vector<double> x = v[0];
  for (uint64_t r = 0; r < s.rows; ++r) {
    for (uint64_t i = 0; i < s.dim; ++i) {
      double sum = 0;
      for (uint64_t j = 0; j < s.dim; ++j) {
        const double element = s.signs == HadamardSigns::kBefore ? sign(j) : 1;
        sum += (std::popcount(i & j) % 2 ? -element : element) * x[r * s.dim + j];
      }
      if (s.signs == HadamardSigns::kAfter) sum *= sign(i);
      v[s.in_place ? 0 : 1][r * s.dim + i] = sum / std::sqrt(double(s.dim));
    }
  }
}

OpCase make_case(Dtype dtype, const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const Shape shape = {s.rows, s.dim};
  const double exact = precision(dtype);
  OpCase out = {.variant = text(dtype),
                .shape = str(s.rows, "x", s.dim,
                             s.signs == HadamardSigns::kBefore  ? " signs before"
                             : s.signs == HadamardSigns::kAfter ? " signs after"
                                                                : "",
                             s.in_place ? " in place" : ""),
                .tensors = {{dtype, shape, s.in_place ? Role::kInOut : Role::kIn}},
                .encode =
                    [s](const Call& c) {
                      return hadamard(c.encoder, {c[0], c[s.in_place ? 0 : 1], s.signs});
                    },
                .reference = [s](Values& v) { reference(v, s); },
                .tolerance = {1e-13 + exact * exact / 4, 1e-6 + exact / 2, 3e-6},
                .flops = s.rows * s.dim * static_cast<uint64_t>(std::bit_width(s.dim)),
                .use = use,
                .ledger = std::move(ledger)};
  if (!s.in_place) out.tensors.push_back({dtype, shape, Role::kOut});
  return out;
}

}  // namespace

std::vector<OpCases> hadamard_cases() {
  OpCases out = {"hadamard", "mlxn/ops/turboquant/hadamard.h", "H x", {}, {}};
  for (Dtype dtype : kFloats) {
    for (uint64_t dim = 1; dim <= 1024; dim *= 2) out.cases.push_back(make_case(dtype, {3, dim}));
    for (HadamardSigns signs : {HadamardSigns::kBefore, HadamardSigns::kAfter}) {
      for (uint64_t dim : {8u, 64u, 256u, 512u}) {
        out.cases.push_back(make_case(dtype, {2, dim, signs, dim == 256}));
      }
    }
    out.cases.push_back(make_case(dtype, {4, 128, HadamardSigns::kNone, true}));
  }
  for (uint64_t dim : {2048u, 4096u, 8192u}) out.cases.push_back(make_case(kF32, {1, dim}, "D26"));
  OpCase known = make_case(kF32, {1, 4});
  known.shape += " known";
  known.tensors[0].fill = exactly({1, 2, 3, 4});
  known.reference = [](Values& v) { v[1] = {5, -1, -2, 0}; };
  out.cases.push_back(known);
  OpCase level = make_case(kF32, {1, 1024});  // one long sum
  level.shape += " of one sign";
  level.tensors[0].fill = uniform(0.5, 1);
  level.tolerance = {1e-12, 1e-6, 2e-5};
  out.cases.push_back(level);
  for (uint64_t dim : {128u, 512u, 8192u}) {
    out.cases.push_back(make_case(kF32, {(1u << 20) / dim, dim}, "", Use::kBench));
  }
  using enum ErrorCode;
  const auto with = [](HadamardSigns signs) {
    return [signs](const Call& c) { return hadamard(c.encoder, {c[0], c[1], signs}); };
  };
  out.wrong_calls = {
      {"no power of two",
       {{kF32, {2, 96}}, {kF32, {2, 96}}},
       with(HadamardSigns::kNone),
       kShapeMismatch,
       "hadamard: rows of 96 elements, expected a power of two up to 8192"},
      {"rows too long",
       {{kF32, {1, 16384}}, {kF32, {1, 16384}}},
       with(HadamardSigns::kNone),
       kShapeMismatch,
       "hadamard: rows of 16384 elements, expected a power of two up to 8192"},
      {"more elements than signs",
       {{kF32, {1, 1024}}, {kF32, {1, 1024}}},
       with(HadamardSigns::kAfter),
       kShapeMismatch,
       "hadamard: rows of 1024 elements, expected a power of two up to 512"},
      {"integers",
       {{kI32, {1, 64}}, {kI32, {1, 64}}},
       with(HadamardSigns::kNone),
       kDtypeMismatch,
       "hadamard: dtype i32, expected f32, f16 or bf16"},
  };
  return {out};
}

}  // namespace mlxn::cases
