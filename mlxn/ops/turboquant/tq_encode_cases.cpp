#include "mlxn/ops/turboquant/tq_encode.h"

#include <algorithm>

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
  uint64_t position = 0, first = 0, count = 0;
  bool ring = false;
  float scale_factor = 1;
  Dtype input = kF32;
  Fill fill = uniform(-2, 2);
  std::string what = {};
};

enum { kInput, kCodes, kNorms };

// Halves of a byte would not show how far a code is off: bytes differ by 16 where a code does by 1.
void encode_row(Values& v, const Setup& s, const std::vector<double>& x, uint64_t row) {
  static const std::vector<double> books[] = {tq_book(4), tq_book(5), tq_book(6), tq_book(8)};
  const std::vector<double>& book = books[s.bits == 8 ? 3 : s.bits - 4];
  const uint64_t dim = x.size(), parts = dim == 512 ? 2 : 1, length = dim / parts;
  const std::vector<double> turned = tq_rotated(x);
  for (uint64_t p = 0; p < parts; ++p) {
    double squares = 0;
    for (uint64_t i = 0; i < length; ++i)
      squares += turned[p * length + i] * turned[p * length + i];
    const double norm = parts == 1 ? std::sqrt(squares) : std::sqrt(squares / double(length));
    const double factor = s.scale_factor < 1e-6f ? 1 : double(s.scale_factor);
    const double unit = parts == 1 ? std::sqrt(double(dim)) : factor;
    v[kNorms][row * parts + p] = norm;
    for (uint64_t i = p * length; i < (p + 1) * length; ++i) {
      const double u = norm <= 1e-10 ? 0 : turned[i] * unit / norm;
      uint64_t code = 0;
      while (code + 1 < book.size() && u > (book[code] + book[code + 1]) / 2) ++code;
      double& byte = v[kCodes][s.bits == 4 ? row * dim / 2 + i / 2 : row * dim + i];
      byte = s.bits == 4 && i % 2 ? byte + double(16 * code) : double(code);
    }
  }
}

void reference(Values& v, const Setup& s) {
  const auto [tokens, heads, dim, capacity] = s.sizes;
  const uint64_t count = s.count ? s.count : tokens - s.first;
  for (uint64_t i = 0; i < count * heads; ++i) {
    const uint64_t t = i / heads, h = i % heads;
    const auto from = v[kInput].begin() + static_cast<ptrdiff_t>(((s.first + t) * heads + h) * dim);
    encode_row(v, s, {from, from + static_cast<ptrdiff_t>(dim)},
               h * capacity + (s.position + t) % capacity);
  }
}

OpCase make_case(const Setup& s, std::string ledger = {}, Use use = Use::kTest) {
  const auto [tokens, heads, dim, capacity] = s.sizes;
  const uint64_t bytes = s.bits == 4 ? dim / 2 : dim, count = s.count ? s.count : tokens - s.first;
  return {.variant = str(s.bits, " bits"),
          .shape = str(tokens, "x", heads, "x", dim, " ", text(s.input), " into ", capacity,
                       s.ring ? " ring" : "", " at ", s.position,
                       s.first || s.count ? str(" from ", s.first, " on ", count) : "",
                       s.scale_factor != 1 ? str(" times ", s.scale_factor) : "", s.what),
          .tensors = {{s.input, {tokens, heads, dim}, Role::kIn, s.fill},
                      {kU8, {heads, capacity, bytes}, Role::kInOut, integers(0, 255)},
                      {kF32, {heads, capacity, dim == 512 ? 2u : 1u}, Role::kInOut}},
          .encode =
              [s](const Call& c) {
                return tq_encode(c.encoder, {.input = c[kInput],
                                             .codes = c[kCodes],
                                             .norms = c[kNorms],
                                             .bits = s.bits,
                                             .position = s.position,
                                             .first_token = s.first,
                                             .count = s.count,
                                             .ring = s.ring,
                                             .scale_factor = s.scale_factor});
              },
          .reference = [s](Values& v) { reference(v, s); },
          // An element halfway between two values may become either: one byte of thousands.
          .tolerance = {1e-6, 1e-6, 17},
          .flops = count * heads * dim * 12,
          .bytes = count * heads * (dim * info(s.input).block_bytes + bytes + 4),
          .use = use,
          .ledger = std::move(ledger)};
}

std::vector<OpCase> tests() {
  std::vector<OpCase> out;
  const auto add = [&](const Setup& s, const char* ledger = "") {
    out.push_back(make_case(s, ledger));
  };
  for (uint32_t bits : {4u, 5u, 6u, 8u}) {
    for (uint64_t dim : {64u, 128u, 256u, 512u}) {
      add({.bits = bits, .sizes = {1, 2, dim, 3}, .position = 2});
      add({.bits = bits, .sizes = {5, 2, dim, 6}, .position = 4, .ring = true}, "D29");
    }
    add({.bits = bits,
         .sizes = {6, 1, 256, 4},
         .position = 2,
         .first = 2,
         .ring = true,
         .what = " a prompt"});
    add({.bits = bits,
         .sizes = {7, 1, 128, 9},
         .position = 5,
         .first = 3,
         .count = 2,
         .input = kF16});
    add({.bits = bits, .sizes = {2, 1, 512, 2}, .scale_factor = 16, .input = kBf16});
    add({.bits = bits, .sizes = {1, 1, 512, 1}, .scale_factor = 0}, "D10");
    add({.bits = bits, .sizes = {1, 1, 256, 1}, .fill = exactly({0}), .what = " zeros"});
    add({.bits = bits, .sizes = {1, 1, 512, 1}, .fill = exactly({0}), .what = " zeros"});
    add({.bits = bits, .sizes = {1, 1, 64, 1}, .fill = uniform(0.5, 1), .what = " of one sign"});
    add({.bits = bits, .sizes = {1, 1, 64, 2}, .position = 1ull << 40, .ring = true}, "D2");
  }
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const std::pair<Dtype, Shape> input = {kF32, {3, 2, 64}}, codes = {kU8, {2, 4, 64}},
                                norms = {kF32, {2, 4, 1}};
  const auto with = [](uint32_t bits, uint64_t position, bool ring, float factor) {
    return [=](const Call& c) {
      return tq_encode(c.encoder, {c[0], c[1], c[2], bits, position, 0, 0, ring, factor});
    };
  };
  return {
      {"seven bits",
       {input, codes, norms},
       with(7, 0, false, 1),
       kInvalidArgument,
       "tq_encode: 7 bits for heads of 64 elements, expected 4, 5, 6 or 8 for 64, 128, 256 or 512"},
      {"heads of 96",
       {{kF32, {3, 2, 96}}, {kU8, {2, 4, 96}}, norms},
       with(8, 0, false, 1),
       kInvalidArgument,
       "tq_encode: 8 bits for heads of 96 elements"},
      {"halves of bytes",
       {input, codes, norms},
       with(4, 0, false, 1),
       kShapeMismatch,
       "tq_encode: codes has 512 elements, shape [2, 4, 64], expected 256"},
      {"past the last row",
       {input, codes, norms},
       with(8, 2, false, 1),
       kOutOfRange,
       "tq_encode: 3 tokens at position 2, expected room in 4 rows"},
      {"more tokens than rows",
       {{kF32, {5, 2, 64}}, codes, norms},
       with(8, 2, true, 1),
       kOutOfRange,
       "tq_encode: 5 tokens at position 2 of a ring, expected room in 4 rows"},
      {"a factor that is no number",
       {input, codes, norms},
       with(8, 0, false, NAN),
       kInvalidArgument,
       "tq_encode: scale factor nan, expected a finite number"},
  };
}

}  // namespace

std::vector<OpCases> tq_encode_cases() {
  OpCases out = {"tq_encode", "mlxn/ops/turboquant/tq_encode.h", "codes of H (sigma x)", tests(),
                 wrong_calls()};
  for (uint32_t bits : {4u, 8u}) {
    out.cases.push_back(make_case({.bits = bits, .sizes = {1024, 8, 256, 1024}}, "", Use::kBench));
    out.cases.push_back(make_case({.bits = bits, .sizes = {512, 2, 512, 1024}}, "", Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
