#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlxn/base/strings.h"
#include "mlxn/ops/moe/moe_route.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

struct Route {
  std::string what;
  uint64_t tokens, experts, selected;
  MoeRouting routing = {};
  bool bias = false, expert_scale = false;
  Fill logits = uniform(-4, 4);
};

// Best first, the lowest of equal ones, NaN last.
std::vector<size_t> ranked(const std::vector<double>& values) {
  std::vector<size_t> out(values.size());
  std::iota(out.begin(), out.end(), size_t{0});
  std::ranges::sort(out, [&](size_t a, size_t b) {
    const bool numbers = !std::isnan(values[a]) && !std::isnan(values[b]);
    if (numbers && values[a] != values[b]) return values[a] > values[b];
    if (std::isnan(values[a]) != std::isnan(values[b])) return std::isnan(values[b]);
    return a < b;
  });
  return out;
}

std::vector<double> scores_of(const std::vector<double>& logits, MoeScoring scoring) {
  std::vector<double> out = logits;
  if (scoring == MoeScoring::kSigmoid) {
    for (double& x : out) x = 1 / (1 + std::exp(-x));
  }
  if (scoring != MoeScoring::kSoftmax) return out;
  double most = -INFINITY, sum = 0;
  for (double x : logits) most = x > most ? x : most;
  for (double x : logits) sum += std::exp(x - most);
  for (double& x : out) x = std::exp(x - most) / sum;
  return out;
}

void leave_groups(std::vector<double>& values, const MoeRouting& routing) {
  const size_t size = values.size() / routing.groups;
  std::vector<double> sums;
  for (size_t g = 0; g < routing.groups; ++g) {
    const std::vector<double> group(values.begin() + static_cast<ptrdiff_t>(g * size),
                                    values.begin() + static_cast<ptrdiff_t>((g + 1) * size));
    const auto best = ranked(group);
    sums.push_back(group[best[0]] + (routing.best_of_group == 2 ? group[best[1]] : 0));
  }
  const auto groups = ranked(sums);
  for (size_t g = routing.kept_groups; g < groups.size(); ++g) {
    for (size_t i = 0; i < size; ++i) values[groups[g] * size + i] = -INFINITY;
  }
}

struct Tables {
  const std::vector<double>*bias, *scale;
};

// One token.
void route(const Route& r, const std::vector<double>& logits, const Tables& tables, double* ids,
           double* weights) {
  const std::vector<double> scores = scores_of(logits, r.routing.scoring);
  std::vector<double> rank = r.bias || r.routing.groups > 1 ? scores : logits;
  for (size_t e = 0; r.bias && e < r.experts; ++e) rank[e] += (*tables.bias)[e];
  if (r.routing.groups > 1) leave_groups(rank, r.routing);
  const auto order = ranked(rank);
  std::vector<double> own(r.selected);
  for (size_t i = 0; i < r.selected; ++i) own[i] = scores[order[i]];
  if (r.routing.scoring == MoeScoring::kSoftmaxOfSelected)
    own = scores_of(own, MoeScoring::kSoftmax);
  const auto scale = [&] {
    for (size_t i = 0; r.expert_scale && i < r.selected; ++i) own[i] *= (*tables.scale)[order[i]];
  };
  if (r.routing.scale_first) scale();
  const double sum = std::accumulate(own.begin(), own.end(), 0.0);
  for (double& x : own) x /= r.routing.renormalise && sum != 0 ? sum : 1;
  if (!r.routing.scale_first) scale();
  for (size_t i = 0; i < r.selected; ++i) {
    ids[i] = double(order[i]);
    weights[i] = own[i] * r.routing.scale;
  }
}

// With the tables of a call in place.
MoeRouting routing_of(const Route& r, const Call& call, size_t tables) {
  MoeRouting out = r.routing;
  if (r.bias) out.bias = &call[tables];
  if (r.expert_scale) out.expert_scale = &call[tables + (r.bias ? 1 : 0)];
  return out;
}

Tables tables_of(const Route& r, const Values& v, size_t tables) {
  return {&v[tables % v.size()], &v[(tables + (r.bias ? 1 : 0)) % v.size()]};
}

void add_tables(OpCase& out, const Route& r) {
  if (r.bias) out.tensors.push_back({kF32, {r.experts}, Role::kIn, uniform(-0.3, 0.3)});
  if (r.expert_scale) out.tensors.push_back({kF32, {r.experts}, Role::kIn, uniform(0.5, 2)});
  if (r.bias) out.variant += " bias";
  if (r.expert_scale) out.variant += " scales";
}

// Tensors: logits, ids, weights and the tables.
OpCase route_case(const Route& r, Use use = Use::kTest) {
  OpCase out = {.variant = "f32",
                .shape = str(r.tokens, ": ", r.selected, " of ", r.experts, " ", r.what),
                .tensors = {{kF32, {r.tokens, r.experts}, Role::kIn, r.logits, {.sizes = {1}}},
                            {kU32, {r.tokens, r.selected}, Role::kOut},
                            {kF32, {r.tokens, r.selected}, Role::kOut}},
                .encode =
                    [r](const Call& c) {
                      return moe_route(c.encoder, {c[0], c[1], c[2], routing_of(r, c, 3)});
                    },
                .reference =
                    [r](Values& v) {
                      for (size_t t = 0; t < r.tokens; ++t) {
                        const double* row = v[0].data() + t * r.experts;
                        route(r, {row, row + r.experts}, tables_of(r, v, 3),
                              v[1].data() + t * r.selected, v[2].data() + t * r.selected);
                      }
                    },
                .tolerance = {1e-11, 3e-6, 1e-9},
                .use = use,
                .ledger = "B15.4"};
  add_tables(out, r);
  if (r.bias || r.expert_scale) out.tensors[0].accepts.sizes = {};
  return out;
}

std::vector<Route> scorings(uint64_t tokens, uint64_t experts, uint64_t selected) {
  using enum MoeScoring;
  return {
      {"softmax", tokens, experts, selected},
      {"softmax as it is", tokens, experts, selected, {.renormalise = false}},
      {"softmax of the selected", tokens, experts, selected, {kSoftmaxOfSelected, false}},
      {"selected, scales first",
       tokens,
       experts,
       selected,
       {kSoftmaxOfSelected, true, true},
       false,
       true},
      {"softmax, scales behind", tokens, experts, selected, {}, false, true},
      {"sigmoid", tokens, experts, selected, {kSigmoid, true, false, 2.5f}, true},
      {"sigmoid, scales", tokens, experts, selected, {kSigmoid, false, true}, true, true},
  };
}

std::vector<Route> edges() {
  using enum MoeScoring;
  MoeRouting groups = {
      .scoring = kSigmoid, .scale = 2.5f, .groups = 8, .kept_groups = 4, .best_of_group = 2};
  MoeRouting single = {.groups = 6, .kept_groups = 3};
  return {
      {"equal logits", 2, 60, 7, {}, false, false, exactly({0.25})},
      {"ties", 3, 64, 6, {}, false, false, integers(0, 3)},
      {"NaN", 2, 6, 5, {kSigmoid, false}, false, false, exactly({NAN, 1, NAN, 2, -INFINITY, NAN})},
      {"far apart", 3, 100, 8, {}, false, false, uniform(-400, 400)},
      {"all the same far below", 2, 33, 2, {kSoftmaxOfSelected}, false, false, exactly({-1e30})},
      {"sigmoids of nothing", 2, 8, 2, {kSigmoid}, false, false, exactly({-1000, -900})},
      {"groups by two", 5, 256, 8, groups, true},
      {"groups by two", 5, 64, 6, groups},
      {"groups by one", 5, 60, 9, single},
      {"groups by one", 5, 60, 30, single, true, true},
      {"half alike", 4, 1000, 64, {}, false, false, integers(0, 200)},
  };
}

OpCases route_ops() {
  OpCases out = {"moe_route", "mlxn/ops/moe/moe_route.h", "experts and weights", {}, {}};
  for (auto [experts, selected] :
       {std::pair(1, 1), std::pair(2, 1), std::pair(8, 3), std::pair(60, 4), std::pair(64, 6),
        std::pair(128, 8), std::pair(256, 8), std::pair(512, 16), std::pair(3072, 2)}) {
    for (const Route& r : scorings(3, uint64_t(experts), uint64_t(selected))) {
      out.cases.push_back(route_case(r));
    }
  }
  for (const Route& r : edges()) out.cases.push_back(route_case(r));
  for (uint64_t tokens : {1u, 512u, 4096u}) {
    out.cases.push_back(route_case({"", tokens, 256, 8}, Use::kBench));
  }
  const auto wrong = [&](std::string what, Shape logits, uint64_t selected, MoeRouting routing,
                         ErrorCode code, std::string message) {
    out.wrong_calls.push_back(
        {std::move(what),
         {{kF32, logits}, {kU32, {2, selected}}, {kF32, {2, selected}}},
         [routing](const Call& c) { return moe_route(c.encoder, {c[0], c[1], c[2], routing}); },
         code,
         std::move(message)});
  };
  wrong("more than there are", {2, 8}, 9, {}, kOutOfRange, "moe_route: 9 of 8 experts");
  wrong("more than the groups have", {2, 8}, 5, {.groups = 4, .kept_groups = 2}, kOutOfRange,
        "moe_route: 5 of 4 experts");
  wrong("groups that do not divide", {2, 8}, 2, {.groups = 3}, kInvalidArgument,
        "moe_route: 8 experts, the best 1 of 3 groups");
  wrong("too many kept", {2, 8}, 2, {.groups = 2, .kept_groups = 3}, kInvalidArgument,
        "the best 3 of 2 groups");
  wrong("groups of one by two", {2, 8}, 2, {.groups = 8, .kept_groups = 8, .best_of_group = 2},
        kInvalidArgument, "groups by their best 2");
  wrong("too many experts", {2, 3073}, 2, {}, kOutOfRange,
        "moe_route: 3073 experts, expected at most 3072");
  wrong("infinite scale", {2, 8}, 2, {.scale = INFINITY}, kInvalidArgument,
        "moe_route: scale inf, expected a finite number");
  return out;
}

// Tensors: hidden, norm weight, router, ids, weights and the tables.
OpCase gate_case(const Route& r, uint64_t dim, Dtype dtype, Use use = Use::kTest) {
  constexpr float kEps = 1e-5f;
  OpCase out = {.variant = text(dtype),
                .shape = str(r.tokens, "x", dim, ": ", r.selected, " of ", r.experts, " ", r.what),
                .tensors = {{dtype, {r.tokens, dim}},
                            {kF32, {dim}, Role::kIn, uniform(0.5, 1.5)},
                            {kF32, {r.experts, dim}, Role::kIn, uniform(-1, 1), {.sizes = {0}}},
                            {kU32, {r.tokens, r.selected}, Role::kOut},
                            {kF32, {r.tokens, r.selected}, Role::kOut}},
                .encode =
                    [r](const Call& c) {
                      return moe_gate(c.encoder,
                                      {c[0], c[1], c[2], c[3], c[4], kEps, routing_of(r, c, 5)});
                    },
                .reference =
                    [r, dim](Values& v) {
                      for (size_t t = 0; t < r.tokens; ++t) {
                        double squares = 0;
                        const double* x = v[0].data() + t * dim;
                        for (size_t i = 0; i < dim; ++i) squares += x[i] * x[i];
                        const double inverse = 1 / std::sqrt(squares / double(dim) + kEps);
                        std::vector<double> logits(r.experts, 0.0);
                        for (size_t i = 0; i < r.experts * dim; ++i) {
                          logits[i / dim] += x[i % dim] * inverse * v[1][i % dim] * v[2][i];
                        }
                        route(r, logits, tables_of(r, v, 5), v[3].data() + t * r.selected,
                              v[4].data() + t * r.selected);
                      }
                    },
                .tolerance = {1e-9, 5e-5, 1e-8},
                .flops = 2 * r.tokens * r.experts * dim,
                .use = use,
                .ledger = "B15.4"};
  add_tables(out, r);
  if (r.bias || r.expert_scale) out.tensors[2].accepts.sizes = {};
  return out;
}

OpCases gate_ops() {
  using enum MoeScoring;
  OpCases out = {"moe_gate", "mlxn/ops/moe/moe_route.h", "moe_route(rms_norm(x) * w)", {}, {}};
  const MoeRouting selected = {kSoftmaxOfSelected, true, true};
  for (Dtype dtype : kFloats) {
    out.cases.push_back(gate_case({"", 2, 8, 3, selected, false, true}, 16, dtype));
    out.cases.push_back(gate_case({"", 3, 128, 8, selected, false, true}, 32, dtype));
    out.cases.push_back(gate_case({"", 2, 60, 10, {kSigmoid}, true}, 257, dtype));
    out.cases.push_back(gate_case({"", 1, 5, 2}, 2816, dtype));
    out.cases.push_back(gate_case({"", 1, 2, 1}, 1, dtype));
    out.cases.push_back(gate_case({"", 67, 7, 3, selected, false, true}, 257, dtype));
  }
  out.cases.push_back(gate_case({"", 1, 128, 8, selected, false, true}, 2816, kBf16, Use::kBench));
  out.cases.push_back(gate_case({"", 64, 128, 8, selected, false, true}, 2816, kBf16, Use::kBench));
  for (float eps : {-1.0f, NAN}) {
    out.wrong_calls.push_back(
        {str("eps ", eps),
         {{kF32, {2, 8}}, {kF32, {8}}, {kF32, {4, 8}}, {kU32, {2, 2}}, {kF32, {2, 2}}},
         [eps](const Call& c) { return moe_gate(c.encoder, {c[0], c[1], c[2], c[3], c[4], eps}); },
         kInvalidArgument,
         str("moe_gate: eps ", eps, ", expected a number from 0 up")});
  }
  return out;
}

}  // namespace

std::vector<OpCases> moe_route_cases() {
  return {route_ops(), gate_ops()};
}

}  // namespace mlxn::cases
