#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/index/embedding.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

struct Sizes {
  uint64_t rows, dim, tokens;
};

enum { kTable, kIds, kOutput };

// Ids past the table give zeros.
void reference(Values& v, const Sizes& s) {
  for (uint64_t t = 0; t < s.tokens; ++t) {
    const auto id = static_cast<uint64_t>(v[kIds][t]);
    for (uint64_t i = 0; i < s.dim; ++i) {
      v[kOutput][t * s.dim + i] = id < s.rows ? v[kTable][id * s.dim + i] : 0;
    }
  }
}

OpCase make_case(Dtype format, Sizes s, Use use) {
  const uint64_t row = *size_bytes(format, s.dim);
  return {.variant = text(format),
          .shape = str(s.tokens, " of ", s.rows, "x", s.dim),
          .tensors = {{format, {s.rows, s.dim}, Role::kIn, uniform(-2, 2), {.sizes = {0}}},
                      {kU32, {s.tokens}, Role::kIn, integers(0, s.rows - 1)},
                      {kF32, {s.tokens, s.dim}, Role::kOut}},
          .encode =
              [](const Call& call) {
                return embedding(call.encoder, {call[kTable], call[kIds], call[kOutput]});
              },
          .reference = [s](Values& v) { reference(v, s); },
          .flops = s.tokens * s.dim,
          .bytes = s.tokens * (row + 4 + 4 * s.dim),
          .use = use};
}

OpCase ids_past_the_table(Dtype format) {
  OpCase out = make_case(format, {5, 256, 6}, Use::kTest);
  out.shape += " past the table";
  out.tensors[kIds].fill = exactly({4, 5, 0, 4294967295.0, 2147483648.0, 1});
  return out;
}

OpCase scaled(Dtype format, float scale) {
  OpCase out = make_case(format, {5, 256, 6}, Use::kTest);
  out.shape += str(" times ", scale);
  out.encode = [scale](const Call& call) {
    return embedding(call.encoder, {call[kTable], call[kIds], call[kOutput], scale});
  };
  out.reference = [scale](Values& v) {
    reference(v, {5, 256, 6});
    for (double& value : v[kOutput]) value *= scale;
  };
  return out;
}

std::vector<WrongCall> wrong_calls() {
  using enum ErrorCode;
  const auto call = [](const Call& c) { return embedding(c.encoder, {c[0], c[1], c[2]}); };
  const std::pair<Dtype, Shape> table = {kQ4_0, {4, 64}}, ids = {kU32, {3}},
                                output = {kF32, {3, 64}};
  return {
      {"ids of another dtype",
       {table, {kI32, {3}}, output},
       call,
       kDtypeMismatch,
       "embedding: ids is i32, expected u32"},
      {"output too short",
       {table, ids, {kF32, {2, 64}}},
       call,
       kShapeMismatch,
       "embedding: output has 128 elements, shape [2, 64], expected 192"},
      {"table of integers",
       {{kU32, {4, 64}}, ids, output},
       call,
       kDtypeMismatch,
       "embedding: weights of u32, expected a float or block format"},
      {"table of one dimension",
       {{kQ4_0, {64}}, ids, output},
       call,
       kShapeMismatch,
       "embedding: table has shape [64], expected two dimensions"},
      {"infinite scale",
       {table, ids, output},
       [](const Call& c) { return embedding(c.encoder, {c[0], c[1], c[2], INFINITY}); },
       kInvalidArgument,
       "embedding: scale inf, expected a finite number"},
      {"id that the host knows",
       {},
       [](const Call&) {
         const uint32_t known[] = {0, 3, 4};
         return check_ids(known, 4);
       },
       kOutOfRange,
       "id 4 at 2, expected less than 4"},
  };
}

}  // namespace

std::vector<OpCases> embedding_cases() {
  OpCases out = {"embedding", "mlxn/ops/index/embedding.h", "w[id]", {}, wrong_calls()};
  for (Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements;
    out.cases.push_back(make_case(format, {7, 2 * block, 3}, Use::kTest));
    out.cases.push_back(make_case(format, {100, block > 32 ? 512u : 576u, 33}, Use::kTest));
    out.cases.push_back(ids_past_the_table(format));
    out.cases.push_back(scaled(format, 53.0659966f));  // sqrt(2816)
  }
  for (uint64_t dim : {1u, 63u, 65u}) out.cases.push_back(make_case(kF32, {9, dim, 4}, Use::kTest));
  for (Dtype format : {kQ4_1, kQ8_0, kF32}) {
    out.cases.push_back(make_case(format, {1000, 576, 1}, Use::kBench));
    out.cases.push_back(make_case(format, {1000, 576, 512}, Use::kBench));
  }
  return {out};
}

}  // namespace mlxn::cases
