#include <cmath>
#include <map>

#include "mlxn/base/strings.h"
#include "mlxn/ops/index/affine_embedding.h"
#include "mlxn/ops/index/gather.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

constexpr double kPastAll[] = {4294967295.0, 2147483648.0};

Fill fill_of(Dtype dtype) {
  return dtype == kU8 || dtype == kU32 || dtype == kI32 ? integers(0, 200) : uniform(-2, 2);
}

struct Sizes {
  uint64_t rows, dim, count;
};

OpCase gather_case(Dtype from, Dtype to, Sizes s, OutOfRange rule, Fill ids,
                   const std::string& what = "", Use use = Use::kTest) {
  return {.variant = from == to ? text(from) : str(text(from), " to ", text(to)),
          .shape = str(s.count, " of ", s.rows, "x", s.dim, what,
                       rule == OutOfRange::kLastRow ? " or the last" : ""),
          .tensors = {{from, {s.rows, s.dim}, Role::kIn, fill_of(from), {.sizes = {0}}},
                      {kU32, {s.count}, Role::kIn, std::move(ids)},
                      {to, {s.count, s.dim}, Role::kOut}},
          .encode = [rule](const Call& c) { return gather(c.encoder, {c[0], c[1], c[2], rule}); },
          .reference =
              [s, rule](Values& v) {
                for (uint64_t i = 0; i < s.count * s.dim; ++i) {
                  auto row = static_cast<uint64_t>(v[1][i / s.dim]);
                  if (row >= s.rows && rule == OutOfRange::kLastRow) row = s.rows - 1;
                  v[2][i] = row < s.rows ? v[0][row * s.dim + i % s.dim] : 0;
                }
              },
          .bytes = s.count * s.dim * (info(to).block_bytes + 4),
          .use = use};
}

// Negative indices lie past the end.
OpCase gather_signed(OutOfRange rule) {
  OpCase out = gather_case(kF32, kF32, {3, 4, 4}, rule, exactly({-1, 2, 0, -2147483648.0}));
  out.tensors[1].dtype = kI32;
  out.shape += " by i32";
  const auto unsigned_rule = out.reference;
  out.reference = [unsigned_rule](Values& v) {
    for (double& index : v[1]) index = index < 0 ? index + 4294967296.0 : index;
    unsigned_rule(v);
  };
  return out;
}

OpCases gather_ops() {
  OpCases out = {"gather", "mlxn/ops/index/gather.h", "x[index]", {}, {}};
  const auto add = [&](Dtype from, Dtype to) {
    const uint64_t block = info(from).block_elements;
    for (OutOfRange rule : {OutOfRange::kZeros, OutOfRange::kLastRow}) {
      const Fill past = exactly({4, kPastAll[0], 5, 0, kPastAll[1], 1});
      out.cases.push_back(gather_case(from, to, {5, 2 * block, 6}, rule, past, " past the end"));
    }
    out.cases.push_back(
        gather_case(from, to, {7, block > 1 ? block : 129, 30}, {}, integers(0, 6)));
  };
  for (Dtype dtype : {kF32, kF16, kBf16, kU8, kU32, kI32}) add(dtype, dtype);
  for (Dtype dtype : {kF16, kBf16, kQ8_0, kQ4_0, kQ6_K}) add(dtype, kF32);
  for (OutOfRange rule : {OutOfRange::kZeros, OutOfRange::kLastRow}) {
    out.cases.push_back(gather_signed(rule));
  }
  out.cases.push_back(gather_case(kF32, kF32, {8, 64, 4}, {}, exactly({3, 3, 0, 7}), " repeated"));
  for (auto [from, to] : {std::pair(kF32, kF32), std::pair(kF16, kF32)}) {
    out.cases.push_back(
        gather_case(from, to, {8192, 512, 8192}, {}, integers(0, 8191), "", Use::kBench));
  }
  const auto call = [](const Call& c) { return gather(c.encoder, {c[0], c[1], c[2]}); };
  out.wrong_calls = {
      {"indices of bytes",
       {{kF32, {4, 8}}, {kU8, {2}}, {kF32, {2, 8}}},
       call,
       kDtypeMismatch,
       "gather: indices is u8, expected u32"},
      {"output of another float type",
       {{kF32, {4, 8}}, {kU32, {2}}, {kF16, {2, 8}}},
       call,
       kDtypeMismatch,
       "gather: from f32 to f16, expected the same of 1, 2 or 4 bytes"},
  };
  return out;
}

OpCase set_rows_case(Dtype from, Dtype to, Sizes s, Fill ids, const std::string& what = "",
                     Use use = Use::kTest) {
  OpCase out = {.variant = from == kF32 ? text(to) : str(text(from), " same"),
                .shape = str(s.count, " into ", s.rows, "x", s.dim, what),
                .tensors = {{from, {s.count, s.dim}},
                            {kU32, {s.count}, Role::kIn, std::move(ids)},
                            {to, {s.rows, s.dim}, Role::kInOut, uniform(-1, 1), {.sizes = {0}}}},
                .encode = [](const Call& c) { return set_rows(c.encoder, {c[0], c[1], c[2]}); },
                .reference =
                    [s](Values& v) {
                      for (uint64_t i = 0; i < s.count; ++i) {
                        const auto row = static_cast<uint64_t>(v[1][i]);
                        if (row >= s.rows) continue;
                        for (uint64_t d = 0; d < s.dim; ++d)
                          v[2][row * s.dim + d] = v[0][i * s.dim + d];
                      }
                    },
                .bytes = s.count * s.dim * 2 * info(from).block_bytes,
                .use = use};
  // Half a step, and that of the scale's rounding.
  if (to == kQ8_0) out.tolerance = {3e-5, 0x1p-11, 0.5 * 2 / 127 * 1.001};
  return out;
}

OpCases set_rows_ops() {
  OpCases out = {"set_rows", "mlxn/ops/index/gather.h", "y[index] = x", {}, {}};
  for (auto [from, to] : {std::pair(kF32, kF32), std::pair(kF32, kF16), std::pair(kF32, kBf16),
                          std::pair(kF32, kQ8_0), std::pair(kF16, kF16), std::pair(kBf16, kBf16)}) {
    const uint64_t block = info(to).block_elements, dim = block > 1 ? 96 : 70;
    out.cases.push_back(set_rows_case(from, to, {3, block, block > 1 ? 12u : 2u}, exactly({2, 0})));
    out.cases.push_back(set_rows_case(from, to, {9, dim, 4}, exactly({8, 0, 3, 5})));
    out.cases.push_back(set_rows_case(from, to, {3, dim, 6},
                                      exactly({0, kPastAll[0], 3, kPastAll[1], 2, 1}), " past it"));
    out.cases.push_back(set_rows_case(from, to, {5, dim, 100}, integers(0, 4), " again and again"));
    out.cases.push_back(set_rows_case(from, to, {5, dim, 33}, exactly({1}), " of one index"));
  }
  OpCase zeros = set_rows_case(kF32, kQ8_0, {9, 64, 1}, exactly({1}), " zeros");
  zeros.tensors[0].fill = exactly({0});
  out.cases.push_back(zeros);
  for (Dtype to : {kF32, kF16, kQ8_0}) {
    std::vector<double> spread(512);
    for (size_t i = 0; i < spread.size(); ++i) spread[i] = double(i * 3 % 4096);
    out.cases.push_back(
        set_rows_case(kF32, to, {4096, 1024, 512}, exactly(spread), "", Use::kBench));
  }
  out.wrong_calls = {
      {"blocks to blocks",
       {{kQ8_0, {2, 32}}, {kU32, {2}}, {kQ8_0, {4, 32}}},
       [](const Call& c) { return set_rows(c.encoder, {c[0], c[1], c[2]}); },
       kDtypeMismatch,
       "set_rows: from q8_0 to q8_0, expected f32 or the same"},
  };
  return out;
}

// Tensors: table, scales, biases, ids, output.
struct Affine {
  Dtype scales;
  uint32_t bits, group;
  Sizes sizes;
  float scale = 1;
  Dtype table = kU8;
};

double code_at(const std::vector<double>& words, uint32_t width, uint64_t bit, uint32_t bits) {
  double out = 0;
  for (uint32_t i = 0; i < bits; ++i, ++bit) {
    const bool set = (static_cast<uint32_t>(words[bit / width]) >> bit % width & 1) != 0;
    out += set ? std::ldexp(1, static_cast<int>(i)) : 0;
  }
  return out;
}

OpCase affine_case(const Affine& a, const std::string& what = "", Use use = Use::kTest) {
  const auto [rows, dim, count] = a.sizes;
  const uint64_t bytes = dim * a.bits / 8, groups = dim / a.group;
  const uint32_t width = 8 * info(a.table).block_bytes;
  return {
      .variant = str(text(a.scales), a.table == kU8 ? "" : " words"),
      .shape = str(a.bits, " bits by ", a.group, ", ", count, " of ", rows, "x", dim, what),
      .tensors = {{a.table, {rows, 8 * bytes / width}, Role::kIn, integers(0, (1ull << width) - 1)},
                  {a.scales, {rows, groups}, Role::kIn, uniform(0.1, 1)},
                  {a.scales, {rows, groups}},
                  {kU32, {count}, Role::kIn, integers(0, rows)},
                  {kF32, {count, dim}, Role::kOut}},
      .encode =
          [a](const Call& c) {
            return affine_embedding(c.encoder,
                                    {c[0], c[1], c[2], c[3], c[4], a.bits, a.group, a.scale});
          },
      .reference =
          [=](Values& v) {
            for (uint64_t i = 0; i < count * dim; ++i) {
              const auto row = static_cast<uint64_t>(v[3][i / dim]);
              if (row >= rows) continue;
              const uint64_t column = i % dim, at = row * groups + column / a.group;
              const double code = code_at(v[0], width, 8 * bytes * row + column * a.bits, a.bits);
              v[4][i] = (code * v[1][at] + v[2][at]) * a.scale;
            }
          },
      .tolerance = {1e-12, 0x1p-23, 1e-6},
      .bytes = count * (bytes + groups * 4 + dim * 4),
      .use = use,
      .ledger = "D24, B15.12"};
}

OpCases affine_ops() {
  OpCases out = {
      "affine_embedding", "mlxn/ops/index/affine_embedding.h", "code * scale + bias", {}, {}};
  for (Dtype scales : kFloats) {
    for (uint32_t bits : {2u, 3u, 4u, 5u, 6u, 8u}) {
      for (uint32_t group : {32u, 64u, 128u}) {
        out.cases.push_back(affine_case({scales, bits, group, {4, 128, 5}}));
      }
      out.cases.push_back(affine_case({scales, bits, 32, {1, 32, 2}}));
      out.cases.push_back(affine_case({scales, bits, 64, {9, 2816, 1}, 53.0659966f}, " scaled"));
    }
  }
  for (uint32_t bits : {3u, 4u, 6u}) {
    out.cases.push_back(affine_case({kBf16, bits, 64, {4, 128, 3}, 1, kU32}));
  }
  for (uint32_t bits : {4u, 6u}) {
    out.cases.push_back(affine_case({kBf16, bits, 64, {4096, 2816, 1}}, "", Use::kBench));
    out.cases.push_back(affine_case({kBf16, bits, 64, {4096, 2816, 512}}, "", Use::kBench));
  }
  const auto call = [](uint32_t bits, uint32_t group, float scale) {
    return [=](const Call& c) {
      return affine_embedding(c.encoder, {c[0], c[1], c[2], c[3], c[4], bits, group, scale});
    };
  };
  const std::vector<std::pair<Dtype, Shape>> arguments = {
      {kU8, {4, 32}}, {kBf16, {4, 1}}, {kBf16, {4, 1}}, {kU32, {2}}, {kF32, {2, 64}}};
  out.wrong_calls = {
      {"seven bits", arguments, call(7, 64, 1), kInvalidArgument,
       "affine_embedding: 7 bits in groups of 64, expected 2, 3, 4, 5, 6 or 8"},
      {"a group of 48", arguments, call(4, 48, 1), kInvalidArgument,
       "affine_embedding: 4 bits in groups of 48"},
      {"more bits than there are", arguments, call(6, 64, 1), kShapeMismatch,
       "affine_embedding: table has 128 elements, shape [4, 32], expected 192"},
      {"infinite scale", arguments, call(4, 64, INFINITY), kInvalidArgument,
       "affine_embedding: scale inf, expected a finite number"},
  };
  return out;
}

}  // namespace

std::vector<OpCases> index_cases() {
  return {gather_ops(), set_rows_ops(), affine_ops()};
}

}  // namespace mlxn::cases
