#include "mlxn/ops/turboquant/tq_decode.h"

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/tq_cases.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t tokens, heads, dim, capacity;
};

struct Setup {
  uint32_t bits;
  Sizes sizes;
  uint64_t position = 0;
  bool ring = false;
  float scale_factor = 1;
};

enum { kCodes, kNorms, kOutput };

OpCase make_case(const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const auto [tokens, heads, dim, capacity] = s.sizes;
  const uint64_t bytes = s.bits == 4 ? dim / 2 : dim;
  return {
      .variant = str(s.bits, " bits"),
      .shape = str(tokens, "x", heads, "x", dim, " of ", capacity, s.ring ? " ring" : "", " at ",
                   s.position, s.scale_factor != 1 ? str(" times ", s.scale_factor) : ""),
      .tensors = {{kU8, {heads, capacity, bytes}, Role::kIn, integers(0, 255)},
                  {kF32, {heads, capacity, dim == 512 ? 2u : 1u}, Role::kIn, uniform(0, 20)},
                  {kF32, {tokens, heads, dim}, Role::kOut, uniform(0, 0), {.sizes = {0}}}},
      .encode =
          [s](const Call& c) {
            return tq_decode(c.encoder, {c[kCodes], c[kNorms], c[kOutput], s.bits, s.position,
                                         s.ring, s.scale_factor});
          },
      .reference =
          [s](Values& v) {
            const auto& [tokens, heads, dim, capacity] = s.sizes;
            const double factor = s.scale_factor < 1e-6f ? 1 : double(s.scale_factor);
            for (uint64_t i = 0; i < v[kOutput].size(); ++i) {
              const uint64_t t = i / dim / heads, h = i / dim % heads;
              const uint64_t row = h * capacity + (s.position + t) % capacity;
              v[kOutput][i] = tq_value(v[kCodes], v[kNorms], row, i % dim, dim, s.bits, factor);
            }
          },
      .tolerance = {1e-13, 1e-6, 1e-7},
      .bytes = tokens * heads * (bytes + 4 * dim),
      .use = use,
      .ledger = std::move(ledger)};
}

}  // namespace

std::vector<OpCases> tq_decode_cases() {
  OpCases out = {"tq_decode", "mlxn/ops/turboquant/tq_decode.h", "values of codes", {}, {}};
  for (uint32_t bits : {4u, 5u, 6u, 8u}) {
    for (uint64_t dim : {64u, 128u, 256u, 512u}) {
      out.cases.push_back(make_case({.bits = bits, .sizes = {1, 1, dim, 2}, .position = 1}));
      out.cases.push_back(
          make_case({.bits = bits, .sizes = {3, 2, dim, 4}, .position = 7, .ring = true}));
    }
    out.cases.push_back(make_case({.bits = bits, .sizes = {2, 1, 512, 2}, .scale_factor = 16}));
    out.cases.push_back(
        make_case({.bits = bits, .sizes = {1, 1, 512, 1}, .scale_factor = 0}, "D10"));
    out.cases.push_back(make_case({.bits = bits, .sizes = {1024, 4, 256, 1024}}, "", Use::kBench));
  }
  using enum ErrorCode;
  const auto call = [](const Call& c) { return tq_decode(c.encoder, {c[0], c[1], c[2], 8}); };
  out.wrong_calls = {
      {"past the last row",
       {{kU8, {2, 4, 64}}, {kF32, {2, 4, 1}}, {kF32, {5, 2, 64}}},
       call,
       kOutOfRange,
       "tq_decode: 5 tokens at position 0, expected room in 4 rows"},
      {"one norm of two",
       {{kU8, {2, 4, 512}}, {kF32, {2, 4, 1}}, {kF32, {4, 2, 512}}},
       call,
       kShapeMismatch,
       "tq_decode: norms has 8 elements, shape [2, 4, 1], expected 16"},
  };
  return {out};
}

}  // namespace mlxn::cases
