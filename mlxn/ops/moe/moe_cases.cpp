#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/moe/moe_combine.h"
#include "mlxn/ops/moe/moe_experts.h"
#include "mlxn/ops/moe/moe_map.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

struct Sizes {
  uint64_t tokens, slots, dim;
};

double weighted(const Values& v, const Sizes& s, size_t i) {
  const size_t token = i / s.dim;
  double sum = 0;
  for (size_t slot = 0; slot < s.slots; ++slot) {
    const size_t row = token * s.slots + slot;
    sum += v[1][row] * v[0][row * s.dim + i % s.dim];
  }
  return sum;
}

// Tensors: experts, weights, output (the residual in place of it), shared and its logits.
struct Combine {
  Sizes sizes;
  bool in_place = false, shared = false;
  Fill weights = uniform(0, 1);
};

OpCase combine_case(const Combine& k, Dtype dtype, Use use = Use::kTest) {
  const Sizes s = k.sizes;
  OpCase out = {.variant = str(text(dtype), k.shared ? " shared" : ""),
                .shape = str(s.tokens, "x", s.slots, "x", s.dim, k.in_place ? " in place" : ""),
                .tensors = {{dtype, {s.tokens, s.slots, s.dim}},
                            {kF32, {s.tokens, s.slots}, Role::kIn, k.weights},
                            {kF32, {s.tokens, s.dim}, k.in_place ? Role::kInOut : Role::kOut}},
                .encode =
                    [k](const Call& c) {
                      return moe_combine(c.encoder,
                                         {c[0], c[1], c[2], k.in_place ? &c[2] : nullptr,
                                          k.shared ? &c[3] : nullptr, k.shared ? &c[4] : nullptr});
                    },
                .reference =
                    [k, s](Values& v) {
                      for (size_t i = 0; i < v[2].size(); ++i) {
                        double sum = weighted(v, s, i) + (k.in_place ? v[2][i] : 0);
                        if (k.shared) sum += v[3][i] / (1 + std::exp(-v[4][i / s.dim]));
                        v[2][i] = sum;
                      }
                    },
                .tolerance = {1e-12, 1e-6, 2e-6},
                .flops = 2 * s.tokens * s.slots * s.dim,
                .use = use,
                .ledger = "B15.13"};
  if (!k.shared) return out;
  out.tensors.push_back({kF32, {s.tokens, s.dim}});
  out.tensors.push_back({kF32, {s.tokens}, Role::kIn, uniform(-5, 5)});
  return out;
}

OpCases combine_ops() {
  OpCases out = {"moe_combine", "mlxn/ops/moe/moe_combine.h", "sum of w * y", {}, {}};
  for (Dtype dtype : kFloats) {
    for (const Sizes& s : {Sizes{2, 3, 4}, Sizes{1, 1, 1}, Sizes{1, 4, 32}, Sizes{3, 8, 257}}) {
      for (bool shared : {false, true}) {
        out.cases.push_back(combine_case({s, false, shared}, dtype));
        out.cases.push_back(combine_case({s, true, shared}, dtype));
      }
    }
    out.cases.push_back(combine_case({{3, 5, 33}, true, true, exactly({0})}, dtype));
    out.cases.push_back(combine_case({{1, 1000, 3}, false, false, exactly({0.5})}, dtype));
    out.cases.back().tensors[0].fill = uniform(0.9, 1);  // a long sum of one sign
    out.cases.back().tolerance.relative = 1e-5;
  }
  for (uint64_t tokens : {1u, 4096u}) {
    out.cases.push_back(combine_case({{tokens, 8, 2048}, true, true}, kF32, Use::kBench));
  }
  out.wrong_calls = {{"shared without its logits",
                      {{kF32, {2, 2, 4}}, {kF32, {2, 2}}, {kF32, {2, 4}}, {kF32, {2, 4}}},
                      [](const Call& c) {
                        return moe_combine(c.encoder, {c[0], c[1], c[2], nullptr, &c[3], nullptr});
                      },
                      kInvalidArgument,
                      "moe_combine: one of shared and shared logits, expected both or none"}};
  return out;
}

// Tensors: experts, weights, norm weight, residual, output, residual weight.
OpCase norm_case(const Sizes& s, bool both, bool in_place, Dtype dtype, Use use = Use::kTest) {
  constexpr float kEps = 1e-5f;
  const size_t output = in_place ? 3 : 5;
  OpCase out = {
      .variant = str(text(dtype), both ? " both" : ""),
      .shape = str(s.tokens, "x", s.slots, "x", s.dim, in_place ? " in place" : ""),
      .tensors = {{dtype, {s.tokens, s.slots, s.dim}},
                  {kF32, {s.tokens, s.slots}, Role::kIn, uniform(0, 1)},
                  {kF32, {s.dim}},
                  {kF32, {s.tokens, s.dim}, in_place ? Role::kInOut : Role::kIn},
                  {kF32, {s.dim}, Role::kIn, uniform(-2, 2), {.all = !both}}},
      .encode =
          [=](const Call& c) {
            return moe_combine_norm(
                c.encoder, {c[0], c[1], c[2], c[3], c[output], both ? &c[4] : nullptr, kEps});
          },
      .reference =
          [=](Values& v) {
            for (size_t t = 0; t < s.tokens; ++t) {
              double squares = 0, others = 0;
              for (size_t i = t * s.dim; i < (t + 1) * s.dim; ++i) {
                squares += std::pow(weighted(v, s, i), 2), others += v[3][i] * v[3][i];
              }
              const double inverse = 1 / std::sqrt(squares / double(s.dim) + kEps);
              const double other = 1 / std::sqrt(others / double(s.dim) + kEps);
              for (size_t i = t * s.dim; i < (t + 1) * s.dim; ++i) {
                const double scale = both ? other * v[4][i % s.dim] : 1;
                v[output][i] = v[3][i] * scale + weighted(v, s, i) * inverse * v[2][i % s.dim];
              }
            }
          },
      .tolerance = {1e-11, 2e-6, 4e-6},
      .flops = 5 * s.tokens * s.slots * s.dim,
      .use = use};
  if (!in_place) out.tensors.push_back({kF32, {s.tokens, s.dim}, Role::kOut});
  return out;
}

OpCases norm_ops() {
  OpCases out = {
      "moe_combine_norm", "mlxn/ops/moe/moe_combine.h", "r + rms_norm(sum of w * y)", {}, {}};
  for (Dtype dtype : kFloats) {
    for (const Sizes& s :
         {Sizes{2, 3, 4}, Sizes{1, 1, 1}, Sizes{3, 2, 255}, Sizes{2, 4, 257}, Sizes{1, 2, 8192}}) {
      for (bool both : {false, true}) {
        out.cases.push_back(norm_case(s, both, false, dtype));
        out.cases.push_back(norm_case(s, both, true, dtype));
      }
    }
  }
  for (uint64_t tokens : {1u, 64u, 512u}) {
    out.cases.push_back(norm_case({tokens, 8, 2816}, true, false, kF32, Use::kBench));
  }
  out.wrong_calls = {{"negative eps",
                      {{kF32, {2, 2, 4}}, {kF32, {2, 2}}, {kF32, {4}}, {kF32, {2, 4}}},
                      [](const Call& c) {
                        return moe_combine_norm(c.encoder,
                                                {c[0], c[1], c[2], c[3], c[3], nullptr, -1});
                      },
                      kInvalidArgument,
                      "moe_combine_norm: eps -1, expected a number from 0 up"}};
  return out;
}

OpCase map_case(const std::string& what, uint64_t tokens, uint64_t slots, uint64_t experts,
                Fill ids, Use use = Use::kTest) {
  return {.variant = "u32",
          .shape = str(tokens, "x", slots, " to ", experts, what),
          .tensors = {{kU32, {tokens, slots}, Role::kIn, std::move(ids)},
                      {kU32, {experts + 1}, Role::kOut, {}, {.sizes = {0}}},
                      {kU32, {tokens, slots}, Role::kOut}},
          .encode = [](const Call& c) { return moe_map(c.encoder, {c[0], c[1], c[2]}); },
          .reference =
              [experts](Values& v) {
                size_t at = 0;
                for (size_t e = 0; e < experts; ++e) {
                  v[1][e] = double(at);
                  for (size_t i = 0; i < v[0].size(); ++i) {
                    if (v[0][i] == double(e)) v[2][at++] = double(i);
                  }
                }
                v[1][experts] = double(at);
                while (at < v[2].size()) v[2][at++] = kNoMoeRow;
              },
          .use = use};
}

OpCases map_ops() {
  OpCases out = {"moe_map", "mlxn/ops/moe/moe_map.h", "rows by expert", {}, {}};
  const auto any = [](uint64_t experts) { return integers(0, experts - 1); };
  out.cases = {
      map_case("", 1, 1, 1, any(1)),
      map_case("", 3, 2, 4, any(4)),
      map_case("", 100, 8, 60, any(60)),
      map_case("", 33, 1, 128, any(128)),
      map_case("", 32, 8, 256, any(256)),
      map_case(" more than 1024", 20, 10, 1500, any(1500)),
      map_case(", some with none", 50, 2, 8, exactly({1, 6, 6, 1})),
      map_case(", all to one", 70, 4, 8, exactly({5})),
      map_case(", all to the last", 70, 4, 8, exactly({7})),
      map_case(", one twice in a token", 9, 4, 5, exactly({2, 2, 0, 4})),
      map_case(", ids past the experts", 9, 4, 5, exactly({2, 5, 4294967295.0, 4})),
      map_case(", none within", 9, 4, 5, exactly({9})),
      map_case("", 512, 8, 256, any(256), Use::kBench),
      map_case("", 4096, 8, 128, any(128), Use::kBench),
  };
  out.wrong_calls = {{"no expert",
                      {{kU32, {2, 2}}, {kU32, {1}}, {kU32, {2, 2}}},
                      [](const Call& c) { return moe_map(c.encoder, {c[0], c[1], c[2]}); },
                      kShapeMismatch,
                      "moe_map: offsets has 1 elements, expected one more than experts"}};
  return out;
}

// Tensors: input, output, hidden and three matrices of each expert.
OpCase experts_case(uint64_t dim, uint64_t inner, const std::vector<float>& weights,
                    MoeActivation activation, const std::string& what = "", Use use = Use::kTest) {
  OpCase out = {.variant = activation == MoeActivation::kGelu ? "f32 gelu" : "f32 silu",
                .shape = str(weights.size(), " of ", inner, "x", dim, what),
                .tensors = {{kF32, {dim}}, {kF32, {dim}, Role::kOut}, {kF32, {inner}, Role::kOut}},
                .encode =
                    [=](const Call& c) {
                      std::vector<MoeExpert> list;
                      for (size_t i = 0; i < weights.size(); ++i) {
                        list.push_back({c[3 + 3 * i], c[4 + 3 * i], c[5 + 3 * i], weights[i]});
                      }
                      return moe_experts(c.encoder, {c[0], c[1], c[2], list, activation});
                    },
                .reference =
                    [=](Values& v) {
                      for (size_t e = 0; e < weights.size(); ++e) {
                        if (std::abs(weights[e]) < 1e-10f) continue;
                        for (size_t j = 0; j < inner; ++j) {
                          double g = 0, u = 0;
                          for (size_t i = 0; i < dim; ++i) {
                            g += v[3 + 3 * e][j * dim + i] * v[0][i];
                            u += v[4 + 3 * e][j * dim + i] * v[0][i];
                          }
                          const double z = std::sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
                          const double gelu = g * (1 + std::tanh(z)) / 2,
                                       silu = g / (1 + std::exp(-g));
                          v[2][j] = (activation == MoeActivation::kGelu ? gelu : silu) * u;
                        }
                        for (size_t i = 0; i < dim; ++i) {
                          double sum = 0;
                          for (size_t j = 0; j < inner; ++j)
                            sum += v[5 + 3 * e][i * inner + j] * v[2][j];
                          v[1][i] += double{weights[e]} * sum;
                        }
                      }
                    },
                .tolerance = {1e-10, 2e-6, 2e-5},
                .flops = 6 * weights.size() * dim * inner,
                .use = use};
  const Fill matrix = uniform(-1 / std::sqrt(double(dim)), 1 / std::sqrt(double(dim)));
  for (size_t i = 0; i < weights.size(); ++i) {
    out.tensors.push_back({kF32, {inner, dim}, Role::kIn, matrix});
    out.tensors.push_back({kF32, {inner, dim}, Role::kIn, matrix});
    out.tensors.push_back({kF32, {dim, inner}, Role::kIn, matrix});
  }
  return out;
}

OpCases experts_ops() {
  OpCases out = {"moe_experts", "mlxn/ops/moe/moe_experts.h", "sum of w * ffn(x)", {}, {}};
  for (MoeActivation a : {MoeActivation::kGelu, MoeActivation::kSilu}) {
    out.cases.push_back(experts_case(8, 4, {1}, a));
    out.cases.push_back(experts_case(8, 4, {0.7f, 0.3f}, a));
    out.cases.push_back(experts_case(33, 70, {0.5f, 0, -0.25f}, a, " with one left out"));
    out.cases.push_back(experts_case(257, 31, {1}, a));
    out.cases.push_back(experts_case(1, 1, {2}, a));
    OpCase none = experts_case(8, 4, {0, 1e-11f}, a, " that do not count");
    none.tensors[2].role = Role::kInOut;  // not touched
    out.cases.push_back(none);
  }
  out.cases.push_back(experts_case(2816, 704, std::vector<float>(8, 0.125f), MoeActivation::kGelu,
                                   "", Use::kBench));
  const std::vector<std::pair<Dtype, Shape>> arguments = {
      {kF32, {8}}, {kF32, {8}}, {kF32, {4}}, {kF32, {4, 8}}, {kF32, {8, 4}}};
  out.wrong_calls = {
      {"no experts", arguments,
       [](const Call& c) { return moe_experts(c.encoder, {c[0], c[1], c[2], {}}); },
       kInvalidArgument, "moe_experts: no experts, expected at least one"},
      {"a matrix turned", arguments,
       [](const Call& c) {
         return moe_experts(c.encoder, {c[0], c[1], c[2], {{c[4], c[3], c[4], 1}}});
       },
       kShapeMismatch, "moe_experts: gate has shape [8, 4], expected [4, 8]"},
      {"infinite weight", arguments,
       [](const Call& c) {
         return moe_experts(c.encoder, {c[0], c[1], c[2], {{c[3], c[3], c[4], INFINITY}}});
       },
       kInvalidArgument, "moe_experts: weight inf, expected a finite number"},
  };
  return out;
}

}  // namespace

std::vector<OpCases> moe_cases() {
  return {combine_ops(), norm_ops(), map_ops(), experts_ops()};
}

}  // namespace mlxn::cases
