#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/ssm/delta_chunks.h"
#include "mlxn/ops/ssm/delta_net.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;
using enum ErrorCode;

struct Net {
  uint64_t sequences, tokens, key_heads, key_dim, heads, value_dim;
  DeltaHeads head_map = DeltaHeads::kTiled;
  float scale = 1;
  bool normalise = false, in_place = false;
  std::string what = "";
  Fill gate = uniform(0, 0.3);
  DeltaGate gate_kind = DeltaGate::kDecay;
};

// Tensors: queries, keys, values, gate, beta, state, output, and the new state unless it goes into
// the state.
struct Head {
  const Net& net;
  Values& v;
  uint64_t sequence, h;

  std::vector<double> key_row(size_t tensor, uint64_t t) const {
    const uint64_t group = net.heads / net.key_heads;
    const uint64_t key = net.head_map == DeltaHeads::kTiled ? h % net.key_heads : h / group;
    const double* from =
        v[tensor].data() + ((sequence * net.tokens + t) * net.key_heads + key) * net.key_dim;
    std::vector<double> out(from, from + net.key_dim);
    double squares = 1e-6;
    for (double x : out) squares += x * x;
    for (double& x : out) x /= net.normalise ? std::sqrt(squares) : 1;
    return out;
  }

  void run(size_t new_state) {
    const uint64_t dim = net.key_dim, begin = (sequence * net.heads + h) * net.value_dim * dim;
    std::vector<double> s(v[5].begin() + static_cast<ptrdiff_t>(begin),
                          v[5].begin() + static_cast<ptrdiff_t>(begin + net.value_dim * dim));
    for (uint64_t t = 0; t < net.tokens; ++t) {
      const auto q = key_row(0, t), k = key_row(1, t);
      const uint64_t at = (sequence * net.tokens + t) * net.heads + h;
      const double decay = std::exp(net.gate_kind == DeltaGate::kDecay ? -v[3][at] : v[3][at]);
      for (uint64_t r = 0; r < net.value_dim; ++r) {
        double predicted = 0, result = 0;
        for (uint64_t i = 0; i < dim; ++i) predicted += (s[r * dim + i] *= decay) * k[i];
        const double change = v[4][at] * (v[2][at * net.value_dim + r] - predicted);
        for (uint64_t i = 0; i < dim; ++i) result += (s[r * dim + i] += change * k[i]) * q[i];
        v[6][at * net.value_dim + r] = result * double{net.scale};
      }
    }
    std::ranges::copy(s, v[new_state].begin() + static_cast<ptrdiff_t>(begin));
  }
};

using Op = std::function<Status(ComputeEncoder&, const DeltaNetParams&)>;

OpCase make_case(const Net& net, Dtype dtype, const Op& op, Use use = Use::kTest) {
  const Shape keys = {net.sequences, net.tokens, net.key_heads, net.key_dim};
  const Shape rows = {net.sequences, net.tokens, net.heads, net.value_dim};
  const Shape gates = {net.sequences, net.tokens, net.heads};
  const Shape state = {net.sequences, net.heads, net.value_dim, net.key_dim};
  const double most = net.normalise ? 2 : 1.5 / std::sqrt(double(net.key_dim));
  const size_t new_state = net.in_place ? 5 : 7;
  OpCase out = {.variant = text(dtype),
                .shape = str(net.sequences, "x", net.tokens, ", ", net.key_heads, "x", net.key_dim,
                             " to ", net.heads, "x", net.value_dim, net.in_place ? " in place" : "",
                             net.normalise ? " normalised" : "",
                             net.head_map == DeltaHeads::kBlocks ? " in blocks" : "", net.what),
                .tensors = {{dtype, keys, Role::kIn, uniform(-most, most)},
                            {dtype, keys, Role::kIn, uniform(-most, most)},
                            {dtype, rows},
                            {kF32, gates, Role::kIn, net.gate},
                            {kF32, gates, Role::kIn, uniform(0, 1)},
                            {kF32, state, net.in_place ? Role::kInOut : Role::kIn, uniform(-1, 1)},
                            {dtype, rows, Role::kOut}},
                .encode =
                    [=](const Call& c) {
                      return op(c.encoder, {c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[new_state],
                                            net.head_map, net.gate_kind, net.scale, net.normalise});
                    },
                .reference =
                    [=](Values& v) {
                      for (uint64_t s = 0; s < net.sequences; ++s) {
                        for (uint64_t h = 0; h < net.heads; ++h) Head{net, v, s, h}.run(new_state);
                      }
                    },
                .tolerance = {1e-10, precision(dtype) + 1e-6, 2e-5},
                .flops = 7 * net.sequences * net.tokens * net.heads * net.value_dim * net.key_dim,
                .use = use};
  if (dtype == kBf16) out.tolerance.nmse = 1.6e-5;
  if (!net.in_place) out.tensors.push_back({kF32, state, Role::kOut});
  return out;
}

std::vector<Net> nets() {
  using enum DeltaHeads;
  std::vector<Net> out = {
      {2, 2, 2, 3, 4, 5},
      {1, 1, 1, 1, 1, 1},
      {1, 4, 1, 8, 1, 8},
      {2, 6, 2, 8, 4, 8},
      {2, 9, 2, 8, 6, 33, kTiled, 0.5f, true, true},
      {2, 9, 2, 16, 6, 8, kBlocks, 1, false, true},
      {1, 3, 3, 32, 3, 32, kBlocks, 0.25f, true},
      {1, 17, 2, 64, 4, 40, kTiled, 0.125f, true},
      {1, 2, 1, 100, 2, 7, kTiled, 1, true, true},
      {1, 10, 1, 128, 3, 32, kTiled, 1, true},
      {1, 3, 1, 256, 2, 16, kTiled, 1, true},
      {1, 12, 1, 256, 1, 6, kTiled, 1, true, true},
      {1, 20, 2, 32, 2, 8, kTiled, 1, true, false, " with strong decay", uniform(4, 6)},
      {1, 20, 2, 32, 2, 8, kTiled, 1, true, false, " without decay", exactly({0})},
      {1, 9, 1, 32, 2, 8, kBlocks, 1, true, false, " by logarithms", uniform(-0.3, 0),
       DeltaGate::kLogDecay},
  };
  for (uint64_t tokens : {1u, 2u, 7u, 8u, 32u})
    out.push_back({2, tokens, 1, 32, 3, 9, kTiled, 1, true});
  return out;
}

OpCases net_ops() {
  const Op op = delta_net;
  OpCases out = {"delta_net", "mlxn/ops/ssm/delta_net.h", "gated delta rule", {}, {}};
  for (Dtype dtype : {kF32, kBf16}) {
    for (const Net& net : nets()) out.cases.push_back(make_case(net, dtype, op));
  }
  for (uint64_t tokens : {1u, 64u}) {
    const Net net = {1, tokens, 16, 128, 32, 128, DeltaHeads::kTiled, 1, true, true};
    out.cases.push_back(make_case(net, kF32, op, Use::kBench));
  }
  const auto wrong = [&](std::string what, Shape keys, Shape values, float scale, ErrorCode code,
                         std::string message) {
    const Shape gates = {1, 2, values[2]}, state = {1, values[2], values[3], keys[3]};
    out.wrong_calls.push_back({std::move(what),
                               {{kF32, keys},
                                {kF32, keys},
                                {kF32, values},
                                {kF32, gates},
                                {kF32, gates},
                                {kF32, state},
                                {kF32, values}},
                               [scale](const Call& c) {
                                 return delta_net(c.encoder, {.queries = c[0],
                                                              .keys = c[1],
                                                              .values = c[2],
                                                              .gate = c[3],
                                                              .beta = c[4],
                                                              .state = c[5],
                                                              .output = c[6],
                                                              .new_state = c[5],
                                                              .scale = scale});
                               },
                               code,
                               std::move(message)});
  };
  wrong("heads that do not divide", {1, 2, 3, 8}, {1, 2, 5, 8}, 1, kShapeMismatch,
        "delta_net: 5 heads of values and 3 of keys, expected a multiple");
  wrong("long keys", {1, 2, 1, 264}, {1, 2, 1, 8}, 1, kOutOfRange,
        "delta_net: keys of 264 elements, expected at most 256");
  wrong("infinite scale", {1, 2, 1, 8}, {1, 2, 1, 8}, INFINITY, kInvalidArgument,
        "delta_net: scale inf, expected a finite number");
  return out;
}

// delta_chunks

std::vector<Net> chunk_nets() {
  using enum DeltaHeads;
  std::vector<Net> out = {
      {2, 2, 2, 16, 4, 5},
      {2, 70, 2, 16, 4, 33, kTiled, 0.5f, true, true},
      {1, 64, 1, 64, 2, 32, kBlocks, 0.125f, true, true},
      {2, 40, 2, 32, 6, 8, kBlocks, 0.25f, true},
      {1, 67, 1, 128, 2, 40, kTiled, 1, true},
      {1, 35, 1, 256, 1, 6, kTiled, 1, true, true},
      {1, 130, 1, 16, 1, 8, kTiled, 0.25f},
      {1, 80, 2, 32, 2, 8, kTiled, 1, true, false, " with strong decay", uniform(4, 6)},
      {1, 80, 2, 32, 2, 8, kTiled, 1, true, false, " with decay to nothing", uniform(50, 200)},
      {1, 80, 2, 32, 2, 8, kTiled, 1, true, false, " without decay", exactly({0})},
      {1, 33, 1, 32, 2, 8, kBlocks, 1, true, false, " by logarithms", uniform(-0.05, -0.005),
       DeltaGate::kLogDecay},
  };
  for (uint64_t tokens : {1u, 15u, 16u, 17u, 32u, 63u, 65u, 128u}) {
    out.push_back({1, tokens, 1, 32, 2, 9, kTiled, 1, true});
  }
  return out;
}

OpCase chunk_case(const Net& net, Dtype dtype, uint32_t size, Use use = Use::kTest) {
  OpCase out = make_case(
      net, dtype,
      [size](ComputeEncoder& encoder, const DeltaNetParams& params) {
        return delta_chunks(encoder, {.net = params, .chunk = size});
      },
      use);
  out.shape += str(" by ", size);
  // Differences of larger sums.
  if (dtype == kF32) out.tolerance = {1e-9, 2e-5, 1e-4};
  return out;
}

OpCases chunk_ops() {
  OpCases out = {"delta_chunks", "mlxn/ops/ssm/delta_chunks.h", "delta_net by chunks", {}, {}};
  for (const Net& net : chunk_nets()) {
    for (uint32_t size : {16u, 32u, 64u}) out.cases.push_back(chunk_case(net, kF32, size));
    out.cases.push_back(chunk_case(net, kBf16, 64));
  }
  for (uint64_t tokens : {64u, 512u}) {
    const Net net = {1, tokens, 16, 128, 32, 128, DeltaHeads::kTiled, 1, true, true};
    out.cases.push_back(chunk_case(net, kF32, 64, Use::kBench));
    out.cases.push_back(chunk_case(net, kBf16, 64, Use::kBench));
  }
  const auto wrong = [&](std::string what, uint64_t dim, uint32_t size, ErrorCode code,
                         std::string message) {
    const Shape rows = {1, 2, 1, dim}, gates = {1, 2, 1}, state = {1, 1, dim, dim};
    out.wrong_calls.push_back(
        {std::move(what),
         {{kF32, rows},
          {kF32, rows},
          {kF32, rows},
          {kF32, gates},
          {kF32, gates},
          {kF32, state},
          {kF32, rows}},
         [size](const Call& c) {
           return delta_chunks(c.encoder, {{c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[5]}, size});
         },
         code,
         std::move(message)});
  };
  wrong("chunks of 48", 32, 48, kInvalidArgument,
        "delta_chunks: chunks of 48 tokens, expected 16, 32 or 64");
  wrong("keys of 24", 24, 64, kOutOfRange,
        "delta_chunks: keys of 24 elements, expected a multiple of 16");
  return out;
}

}  // namespace

std::vector<OpCases> delta_net_cases() {
  return {net_ops(), chunk_ops()};
}

}  // namespace mlxn::cases
