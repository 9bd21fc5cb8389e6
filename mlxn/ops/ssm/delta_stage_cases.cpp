#include <cmath>

#include "mlxn/base/strings.h"
#include "mlxn/ops/ssm/delta_chunks.h"
#include "mlxn/testing/op_case.h"

namespace mlxn::cases {
namespace {

using enum Dtype;

// Places of the tensors.
enum {
  kQueries,
  kKeys,
  kValues,
  kGate,
  kBeta,
  kState,
  kOutput,
  kNewState,
  kLengths,
  kDecays,
  kInverses,
  kProducts,
  kW,
  kU,
  kStates,
  kTensors
};

struct Net {
  uint64_t sequences, tokens, key_heads, key_dim, heads, value_dim, size;
  DeltaHeads head_map = DeltaHeads::kTiled;
  float scale = 0.5f;
  uint64_t chunks() const { return (tokens - 1) / size + 1; }
  uint64_t columns() const { return (value_dim + 31) / 32 * 32; }
};

// A chunk of a head, with tokens behind the last one as zeros.
struct Chunk {
  const Net& net;
  Values& v;
  uint64_t s, n, h;

  uint64_t token(uint64_t i) const { return n * net.size + i; }
  bool has(uint64_t i) const { return token(i) < net.tokens; }
  uint64_t gate_at(uint64_t i) const { return (s * net.tokens + token(i)) * net.heads + h; }
  uint64_t key_at(uint64_t i) const {
    const uint64_t key =
        net.head_map == DeltaHeads::kTiled ? h % net.key_heads : h / (net.heads / net.key_heads);
    return (s * net.tokens + token(i)) * net.key_heads + key;
  }
  uint64_t block() const { return (s * net.chunks() + n) * net.heads + h; }
  double beta(uint64_t i) const { return has(i) ? v[kBeta][gate_at(i)] : 0; }
  double decay(uint64_t i) const {
    return v[kDecays][(s * net.chunks() * net.size + token(i)) * net.heads + h];
  }
  double query(uint64_t i, uint64_t d) const {
    const uint64_t at = has(i) ? key_at(i) : 0;
    return has(i) ? v[kQueries][at * net.key_dim + d] * v[kLengths][at] : 0;
  }
  double key(uint64_t i, uint64_t d) const {
    const uint64_t at = has(i) ? key_at(i) : 0, half = v[kLengths].size() / 2;
    return has(i) ? v[kKeys][at * net.key_dim + d] * v[kLengths][half + at] : 0;
  }
  double value(uint64_t i, uint64_t d) const {
    return has(i) ? v[kValues][gate_at(i) * net.value_dim + d] : 0;
  }
  double& square(size_t tensor, uint64_t i, uint64_t j) const {
    return v[tensor][(block() * net.size + i) * net.size + j];
  }
  double& row(size_t tensor, uint64_t i, uint64_t d, uint64_t dim) const {
    return v[tensor][(block() * net.size + i) * dim + d];
  }
  double& cell(uint64_t d, uint64_t e) const {
    return v[kStates][(block() * net.key_dim + d) * net.columns() + e];
  }
};

void lengths(const Net& net, Values& v) {
  const uint64_t half = v[kLengths].size() / 2;
  for (uint64_t row = 0; row < half; ++row) {
    double queries = 1e-6, keys = 1e-6;
    for (uint64_t d = row * net.key_dim; d < (row + 1) * net.key_dim; ++d) {
      queries += v[kQueries][d] * v[kQueries][d], keys += v[kKeys][d] * v[kKeys][d];
    }
    v[kLengths][row] = net.scale / std::sqrt(queries);
    v[kLengths][half + row] = 1 / std::sqrt(keys);
  }
}

void decays(const Chunk& c) {
  double sum = 0;
  for (uint64_t i = 0; i < c.net.size; ++i) {
    sum -= c.has(i) ? c.v[kGate][c.gate_at(i)] : 0;
    const uint64_t row = c.s * c.net.chunks() * c.net.size + c.token(i);
    c.v[kDecays][row * c.net.heads + c.h] = sum;
  }
}

void products(const Chunk& c) {
  for (uint64_t i = 0; i < c.net.size; ++i) {
    for (uint64_t j = 0; j <= i; ++j) {
      double a = 0, p = 0;
      for (uint64_t d = 0; d < c.net.key_dim; ++d) {
        a += c.key(i, d) * c.key(j, d), p += c.query(i, d) * c.key(j, d);
      }
      const double decay = std::exp(c.decay(i) - c.decay(j));
      c.square(kInverses, i, j) = i == j ? 0 : c.beta(i) * a * decay;
      c.square(kProducts, i, j) = p * decay;
    }
  }
}

void inverses(const Chunk& c) {
  const uint64_t size = c.net.size;
  std::vector<double> x(size * size);
  for (uint64_t i = 0; i < size; ++i) {
    for (uint64_t j = 0; j < size; ++j) {
      x[i * size + j] = i == j ? 1 : 0;
      for (uint64_t m = 0; m < i; ++m)
        x[i * size + j] -= c.square(kInverses, i, m) * x[m * size + j];
    }
  }
  for (uint64_t i = 0; i < size * size; ++i) c.square(kInverses, i / size, i % size) = x[i];
}

void updates(const Chunk& c) {
  for (uint64_t i = 0; i < c.net.size; ++i) {
    for (uint64_t m = 0; m <= i; ++m) {
      const double factor = c.square(kInverses, i, m) * c.beta(m);
      for (uint64_t d = 0; d < c.net.value_dim; ++d) {
        c.row(kU, i, d, c.net.columns()) += factor * c.value(m, d);
      }
      for (uint64_t d = 0; d < c.net.key_dim; ++d) {
        c.row(kW, i, d, c.net.key_dim) += factor * std::exp(c.decay(m)) * c.key(m, d);
      }
    }
  }
}

// All chunks of a head.
void states(const Net& net, Values& v, uint64_t s, uint64_t h) {
  const uint64_t keys = net.key_dim, values = net.columns();
  std::vector<double> state(keys * values, 0.0);
  const uint64_t begin = (s * net.heads + h) * net.value_dim * keys;
  for (uint64_t i = 0; i < net.value_dim * keys; ++i) {
    state[i % keys * values + i / keys] = v[kState][begin + i];
  }
  for (uint64_t n = 0; n < net.chunks(); ++n) {
    const Chunk c = {net, v, s, n, h};
    std::vector<double> next = state;
    const double end = c.decay(net.size - 1);
    for (uint64_t i = 0; i < state.size(); ++i) {
      c.cell(i / values, i % values) = state[i];
      next[i] *= std::exp(end);
    }
    for (uint64_t i = 0; i < net.size; ++i) {
      for (uint64_t e = 0; e < values; ++e) {
        double& change = c.row(kU, i, e, values);
        for (uint64_t d = 0; d < keys; ++d) change -= c.row(kW, i, d, keys) * state[d * values + e];
        const double left = change * std::exp(end - c.decay(i));
        for (uint64_t d = 0; d < keys; ++d) next[d * values + e] += left * c.key(i, d);
      }
    }
    state = next;
  }
  for (uint64_t i = 0; i < net.value_dim * keys; ++i) {
    v[kNewState][begin + i] = state[i % keys * values + i / keys];
  }
}

void output(const Chunk& c) {
  for (uint64_t i = 0; i < c.net.size && c.has(i); ++i) {
    for (uint64_t e = 0; e < c.net.value_dim; ++e) {
      double sum = 0;
      for (uint64_t d = 0; d < c.net.key_dim; ++d) sum += c.query(i, d) * c.cell(d, e);
      sum *= std::exp(c.decay(i));
      for (uint64_t j = 0; j <= i; ++j) {
        sum += c.square(kProducts, i, j) * c.row(kU, j, e, c.net.columns());
      }
      c.v[kOutput][c.gate_at(i) * c.net.value_dim + e] = sum;
    }
  }
}

void reference(DeltaStage stage, const Net& net, Values& v) {
  if (stage == DeltaStage::kLengths) return lengths(net, v);
  for (uint64_t s = 0; s < net.sequences; ++s) {
    for (uint64_t h = 0; h < net.heads; ++h) {
      if (stage == DeltaStage::kStates) states(net, v, s, h);
      for (uint64_t n = 0; n < net.chunks(); ++n) {
        const Chunk chunk = {net, v, s, n, h};
        if (stage == DeltaStage::kDecays) decays(chunk);
        if (stage == DeltaStage::kProducts) products(chunk);
        if (stage == DeltaStage::kInverses) inverses(chunk);
        if (stage == DeltaStage::kUpdates) updates(chunk);
        if (stage == DeltaStage::kOutput) output(chunk);
      }
    }
  }
}

struct Stage {
  DeltaStage stage;
  const char* name;
  std::vector<size_t> written;  // the first in place where `in_place`
  bool in_place = false;
};

std::vector<Stage> stages() {
  return {{DeltaStage::kLengths, "lengths", {kLengths}},
          {DeltaStage::kDecays, "decays", {kDecays}},
          {DeltaStage::kProducts, "products", {kInverses, kProducts}},
          {DeltaStage::kInverses, "inverses", {kInverses}, true},
          {DeltaStage::kUpdates, "updates", {kU, kW}},
          {DeltaStage::kStates, "states", {kU, kStates, kNewState}, true},
          {DeltaStage::kOutput, "output", {kOutput}}};
}

// Falling from token to token, as sums of logarithms of decays do.
void fall(Random&, std::span<double> values) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = -0.5 * double(i) / double(values.size());
}

// Strictly lower, a chunk after the other.
Fill lower(uint64_t size, double most) {
  return [=](Random& random, std::span<double> values) {
    std::uniform_real_distribution<double> distribution(-most, most);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = i % size < i / size % size ? distribution(random) : 0;
    }
  };
}

std::vector<Tensor> tensors_of(const Net& n, Dtype dtype, const Stage& stage) {
  const uint64_t padded = n.chunks() * n.size;
  const Shape keys = {n.sequences, n.tokens, n.key_heads, n.key_dim};
  const Shape rows = {n.sequences, n.tokens, n.heads, n.value_dim};
  const Shape gates = {n.sequences, n.tokens, n.heads};
  const Shape state = {n.sequences, n.heads, n.value_dim, n.key_dim};
  const Shape square = {n.sequences, n.chunks(), n.heads, n.size, n.size};
  const Fill triangle = lower(n.size, 1 / std::sqrt(double(n.size)));
  std::vector<Tensor> out = {
      {dtype, keys},
      {dtype, keys},
      {dtype, rows},
      {kF32, gates, Role::kIn, uniform(0, 0.1)},
      {kF32, gates, Role::kIn, uniform(0, 1)},
      {kF32, state},
      {dtype, rows},
      {kF32, state},
      {kF32, {2, n.sequences, n.tokens, n.key_heads}, Role::kIn, uniform(0.1, 0.3)},
      {kF32, {n.sequences, padded, n.heads}, Role::kIn, fall},
      {kF32, square, Role::kIn, triangle},
      {kF32, square, Role::kIn, triangle},
      {kF32, {n.sequences, n.chunks(), n.heads, n.size, n.key_dim}, Role::kIn, uniform(-0.2, 0.2)},
      {kF32, {n.sequences, n.chunks(), n.heads, n.size, n.columns()}},
      {kF32, {n.sequences, n.chunks(), n.heads, n.key_dim, n.columns()}}};
  for (size_t tensor : stage.written) out[tensor].role = Role::kOut;
  if (stage.in_place) out[stage.written[0]].role = Role::kInOut;
  return out;
}

OpCase make_case(const Net& net, Dtype dtype, const Stage& stage, Use use = Use::kTest) {
  OpCase out = {.variant = str(text(dtype), " ", stage.name),
                .shape = str(net.sequences, "x", net.tokens, ", ", net.key_heads, "x", net.key_dim,
                             " to ", net.heads, "x", net.value_dim, " by ", net.size),
                .tensors = tensors_of(net, dtype, stage),
                .encode =
                    [=](const Call& c) {
                      const DeltaChunkScratch scratch = {static_cast<uint32_t>(net.size),
                                                         c[kLengths],
                                                         c[kDecays],
                                                         c[kInverses],
                                                         c[kProducts],
                                                         c[kW],
                                                         c[kU],
                                                         c[kStates]};
                      const DeltaNetParams params = {c[kQueries],       c[kKeys],     c[kValues],
                                                     c[kGate],          c[kBeta],     c[kState],
                                                     c[kOutput],        c[kNewState], net.head_map,
                                                     DeltaGate::kDecay, net.scale,    true};
                      return delta_stage(c.encoder, stage.stage, params, scratch);
                    },
                .reference = [=](Values& v) { reference(stage.stage, net, v); },
                .tolerance = {1e-10, precision(dtype) + 1e-6, 2e-5},
                .use = use};
  if (dtype == kBf16 && stage.stage == DeltaStage::kOutput) out.tolerance.nmse = 1.6e-5;
  return out;
}

}  // namespace

std::vector<OpCases> delta_stage_cases() {
  OpCases out = {"delta_stage", "mlxn/ops/ssm/delta_chunks.h", "a stage of delta_chunks", {}, {}};
  using enum DeltaHeads;
  for (const Stage& stage : stages()) {
    for (Dtype dtype : {kF32, kBf16}) {
      out.cases.push_back(make_case({2, 2, 2, 16, 4, 3, 16}, dtype, stage));
      out.cases.push_back(make_case({1, 40, 1, 32, 2, 33, 32, kBlocks}, dtype, stage));
      out.cases.push_back(make_case({1, 70, 2, 16, 4, 5, 64, kBlocks}, dtype, stage));
    }
    const Net long_prompt = {1, 512, 16, 128, 32, 128, 64};
    out.cases.push_back(make_case(long_prompt, kF32, stage, Use::kBench));
  }
  out.wrong_calls = {
      {"no scratch",
       {{kF32, {1, 2, 1, 16}}, {kF32, {1, 2, 1}}, {kF32, {1, 1, 16, 16}}, {kF32, {1, 2, 1, 16}}},
       [](const Call& c) {
         const DeltaNetParams params = {c[0], c[0], c[0], c[1], c[1], c[2], c[3], c[2]};
         DeltaChunkScratch none;
         none.size = 64;
         return delta_stage(c.encoder, DeltaStage::kDecays, params, none);
       },
       ErrorCode::kInvalidArgument,
       "lengths is empty"}};
  return {out};
}

}  // namespace mlxn::cases
