#include "mlxn/ops/attention/attention_blocks.h"

#include <algorithm>
#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

// What a mask holds: key c is hidden from row r.
struct Setup {
  uint64_t rows, columns;
  std::string what;
  std::function<bool(uint64_t, uint64_t)> hidden;
  double open = 0;  // for the others
};

Fill cells(Dtype dtype, const Setup& s) {
  return [=](Random&, std::span<double> values) {
    for (uint64_t i = 0; i < values.size(); ++i) {
      const bool hidden = s.hidden(i / s.columns, i % s.columns);
      values[i] = dtype == kBool ? (hidden ? 0 : 1) : hidden ? -INFINITY : s.open;
    }
  };
}

void reference(Values& v, const Setup& s, Dtype dtype) {
  const uint64_t across = (s.columns + 31) / 32;
  for (uint64_t block = 0; block < v[1].size(); ++block) {
    bool none = true, all = true;
    for (uint64_t r = block / across * 32; r < std::min(s.rows, block / across * 32 + 32); ++r) {
      for (uint64_t c = block % across * 32; c < std::min(s.columns, block % across * 32 + 32);
           ++c) {
        const double cell = v[0][r * s.columns + c];
        none &= dtype == kBool ? cell == 0 : cell == -INFINITY;
        all &= dtype == kBool ? cell != 0 : cell == 0;
      }
    }
    v[1][block] = none ? 0 : all ? 2 : 1;
  }
}

OpCase make_case(Dtype dtype, const Setup& s, Use use = Use::kTest) {
  const Shape blocks = {(s.rows + 31) / 32, (s.columns + 31) / 32};
  return {.variant = text(dtype),
          .shape = str(s.rows, "x", s.columns, " ", s.what),
          // As many blocks hold a mask that is a little larger.
          .tensors = {{dtype, {s.rows, s.columns}, Role::kIn, cells(dtype, s), {.sizes = {0, 1}}},
                      {kU8, blocks, Role::kOut}},
          .encode = [](const Call& c) { return attention_blocks(c.encoder, {c[0], c[1]}); },
          .reference = [=](Values& v) { reference(v, s, dtype); },
          .use = use,
          .ledger = use == Use::kTest ? "D14" : ""};
}

}  // namespace

std::vector<OpCases> attention_blocks_cases() {
  OpCases out = {"attention_blocks", "mlxn/ops/attention/attention_blocks.h", "0, 1 or 2", {}, {}};
  const auto causal = [](uint64_t r, uint64_t c) { return c > r; };
  const auto window = [](uint64_t r, uint64_t c) { return c > r || r - c >= 64; };
  for (Dtype dtype : {kF32, kF16, kBf16, kBool}) {
    const auto add = [&](const Setup& s) { out.cases.push_back(make_case(dtype, s)); };
    add({1, 1, "open", [](uint64_t, uint64_t) { return false; }});
    add({33, 65, "shut", [](uint64_t, uint64_t) { return true; }});
    add({64, 64, "causal", causal});
    add({256, 256, "causal", causal});
    add({256, 256, "window", window});
    add({100, 77, "window", window});
    add({40, 70, "one column", [](uint64_t, uint64_t c) { return c == 69; }});
    add({40, 70, "one cell", [](uint64_t r, uint64_t c) { return r == 31 && c == 31; }});
    if (dtype != kBool) add({32, 64, "biases", causal, -1e30});
    out.cases.push_back(make_case(dtype, {1024, 2048, "causal", causal}, Use::kBench));
  }
  using enum ErrorCode;
  const auto call = [](const Call& c) { return attention_blocks(c.encoder, {c[0], c[1]}); };
  out.wrong_calls = {
      {"a mask of integers",
       {{kI32, {4, 4}}, {kU8, {1, 1}}},
       call,
       kDtypeMismatch,
       "attention_blocks: mask is i32, expected f32, f16 or bf16"},
      {"a block too few",
       {{kF32, {33, 4}}, {kU8, {1, 1}}},
       call,
       kShapeMismatch,
       "attention_blocks: blocks has 1 elements, shape [1, 1], expected 2"},
  };
  return {out};
}

}  // namespace mlxn::cases
