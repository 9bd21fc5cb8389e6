#include "mlxn/ops/attention/attention_mask.h"

#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Setup {
  uint64_t rows, keys;
  uint64_t offset = 0, window = 0;
  bool causal = true;
};

OpCase make_case(Dtype dtype, const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  return {.variant = text(dtype),
          .shape = str(s.rows, "x", s.keys, " at ", s.offset, s.causal ? " causal" : "",
                       s.window ? str(" window ", s.window) : ""),
          // Any size is a size of a mask.
          .tensors = {{dtype, {s.rows, s.keys}, Role::kOut, uniform(0, 0), {.sizes = {0, 1}}}},
          .encode =
              [s](const Call& c) {
                return attention_mask(c.encoder, {c[0], s.offset, s.window, s.causal});
              },
          .reference =
              [s, dtype](Values& v) {
                for (uint64_t i = 0; i < s.rows * s.keys; ++i) {
                  const uint64_t key = i % s.keys, position = s.offset + i / s.keys;
                  const bool ahead = key > position;
                  const bool hidden = ahead ? s.causal : s.window && position - key >= s.window;
                  v[0][i] = dtype == kBool ? (hidden ? 0 : 1) : hidden ? -INFINITY : 0;
                }
              },
          .use = use,
          .ledger = std::move(ledger)};
}

}  // namespace

std::vector<OpCases> attention_mask_cases() {
  OpCases out = {"attention_mask", "mlxn/ops/attention/attention_mask.h", "0 or -infinity", {}, {}};
  for (Dtype dtype : {kF32, kF16, kBf16, kBool}) {
    for (const Setup& s : {Setup{1, 1},
                           {64, 64},
                           {7, 13},
                           {5, 40, 20},
                           {33, 70, 0, 8},
                           {20, 20, 0, 1},
                           {9, 31, 10, 100},
                           {9, 31, 10, 4, false},
                           {9, 31, 0, 0, false},
                           {3, 6, 1ull << 40},
                           {3, 6, UINT64_MAX - 3, UINT64_MAX},
                           {3, 6, 4, UINT64_MAX}}) {
      out.cases.push_back(make_case(dtype, s, "D2"));
    }
    out.cases.push_back(make_case(dtype, {512, 4096, 3584, 1024}, "", Use::kBench));
  }
  using enum ErrorCode;
  out.wrong_calls = {
      {"a mask of integers",
       {{kI32, {4, 4}}},
       [](const Call& c) { return attention_mask(c.encoder, {c[0]}); },
       kDtypeMismatch,
       "attention_mask: mask is i32, expected f32, f16 or bf16"},
      {"a mask of one dimension",
       {{kF32, {4}}},
       [](const Call& c) { return attention_mask(c.encoder, {c[0]}); },
       kShapeMismatch,
       "attention_mask: mask has shape [4], expected two dimensions"},
      {"positions that overflow",
       {{kF32, {4, 4}}},
       [](const Call& c) {
         return attention_mask(c.encoder, {.mask = c[0], .offset = UINT64_MAX});
       },
       kOutOfRange,
       "18446744073709551615 + 4 overflows"},
  };
  return {out};
}

}  // namespace mlxn::cases
