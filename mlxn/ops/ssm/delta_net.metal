// delta_net_steps_{f32,bf16}: for few tokens. A simdgroup has kDeltaRows rows of a state, its lanes
// side by side along the keys; between tokens the rows stay in the new state.
// Grid: threadgroups of 32 threads, (value_dim / kDeltaRows, heads, sequences).
// delta_net_rows_{f32,bf16}: for many tokens. A simdgroup has 32 rows, one for each lane, turned in
// threadgroup memory. Grid: threadgroups of 32 threads, (value_dim / 32, heads, sequences);
// threadgroup memory 0: key_dim * 32 floats. key_dim is a multiple of 8, at most kDeltaLongKeyDim.
// Buffers: 0 queries, 1 keys, 2 values, 3 gate, 4 beta, 5 state, 6 output, 7 new state,
// 8 DeltaNetArgs. The new state may be the state.
#include "mlxn/ops/ssm/delta_net_rows.h"

// What a token brings to a head.
template <typename T>
struct Token {
  device const T* query;
  device const T* key;
  float query_scale, key_scale, decay, beta;
};

template <typename T>
struct Inputs {
  device const T* queries;
  device const T* keys;
  device const float* gate;
  device const float* beta;

  Token<T> token(uint sequence, uint t, uint head, constant DeltaNetArgs& args, uint lane) const {
    const ulong row = key_row(sequence, t, key_head(head, args), args);
    const ulong at = gate_at(sequence, t, head, args);
    const float query_scale = args.scale * inverse_length(queries + row, args, lane);
    const float key_scale = inverse_length(keys + row, args, lane);
    return {queries + row, keys + row, query_scale, key_scale, exp(args.gate_sign * gate[at]),
            beta[at]};
  }
};

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_net_steps(
    device const T* queries [[buffer(0)]], device const T* keys [[buffer(1)]],
    device const T* values [[buffer(2)]], device const float* gate [[buffer(3)]],
    device const float* beta [[buffer(4)]], device const float* state [[buffer(5)]],
    device T* output [[buffer(6)]], device float* new_state [[buffer(7)]],
    constant DeltaNetArgs& args [[buffer(8)]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.y, sequence = group.z, dim = args.key_dim;
  const uint first = group.x * kDeltaRows, rows = min(kDeltaRows, args.value_dim - first);
  const ulong begin =
      ((static_cast<ulong>(sequence) * args.heads + head) * args.value_dim + first) * dim;
  const Inputs<T> inputs = {queries, keys, gate, beta};
  for (uint t = 0; t < args.tokens; ++t) {
    const Token<T> token = inputs.token(sequence, t, head, args, lane);
    const ulong value_row = gate_at(sequence, t, head, args) * args.value_dim + first;
    for (uint r = 0; r < rows; ++r) {
      device const float* old = (t == 0 ? state : new_state) + (begin + r * dim);
      device float* row = new_state + (begin + r * dim);
      Accumulator product = 0;
      for (uint i = lane; i < dim; i += 32) product += old[i] * static_cast<float>(token.key[i]);
      const float predicted = simd_sum(static_cast<float>(product)) * token.key_scale * token.decay;
      const float value = static_cast<float>((values + value_row)[r]);
      const float change = token.beta * (value - predicted) * token.key_scale;
      Accumulator result = 0;
      for (uint i = lane; i < dim; i += 32) {
        const float cell = fma(change, static_cast<float>(token.key[i]), token.decay * old[i]);
        row[i] = cell;
        result += cell * static_cast<float>(token.query[i]);
      }
      const float sum = simd_sum(static_cast<float>(result)) * token.query_scale;
      if (lane == 0) (output + value_row)[r] = static_cast<T>(sum);
    }
  }
}

template <typename T>
[[kernel, max_total_threads_per_threadgroup(32)]] void delta_net_rows(
    device const T* queries [[buffer(0)]], device const T* keys [[buffer(1)]],
    device const T* values [[buffer(2)]], device const float* gate [[buffer(3)]],
    device const float* beta [[buffer(4)]], device const float* state [[buffer(5)]],
    device T* output [[buffer(6)]], device float* new_state [[buffer(7)]],
    constant DeltaNetArgs& args [[buffer(8)]], threadgroup float* cells [[threadgroup(0)]],
    uint3 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint head = group.y, sequence = group.z, dim = args.key_dim;
  const uint row = group.x * 32 + lane, own_row = min(row, args.value_dim - 1);
  const ulong begin =
      ((static_cast<ulong>(sequence) * args.heads + head) * args.value_dim + own_row) * dim;
  const Inputs<T> inputs = {queries, keys, gate, beta};
  threadgroup float* own = cells + lane;
  for (uint i = 0; i < dim; ++i) own[32 * i] = state[begin + i];
  for (uint t = 0; t < args.tokens; ++t) {
    const Token<T> token = inputs.token(sequence, t, head, args, lane);
    const ulong at = gate_at(sequence, t, head, args) * args.value_dim + own_row;
    Accumulator product = 0;
    for (uint i = 0; i < dim; i += 8) {
      float sum = 0;
      for (uint j = 0; j < 8; ++j) sum += own[32 * (i + j)] * static_cast<float>(token.key[i + j]);
      product += sum;
    }
    const float predicted = product * token.key_scale * token.decay;
    const float change =
        token.beta * (static_cast<float>(values[at]) - predicted) * token.key_scale;
    Accumulator result = 0;
    for (uint i = 0; i < dim; i += 8) {
      float sum = 0;
      for (uint j = 0; j < 8; ++j) {
        const float cell =
            fma(change, static_cast<float>(token.key[i + j]), token.decay * own[32 * (i + j)]);
        own[32 * (i + j)] = cell;
        sum += cell * static_cast<float>(token.query[i + j]);
      }
      result += sum;
    }
    if (row < args.value_dim) output[at] = static_cast<T>(result * token.query_scale);
  }
  if (row >= args.value_dim) return;
  for (uint i = 0; i < dim; ++i) new_state[begin + i] = own[32 * i];
}

MLXN_KERNEL("delta_net_steps_f32", delta_net_steps, float);
MLXN_KERNEL("delta_net_steps_bf16", delta_net_steps, bfloat);
MLXN_KERNEL("delta_net_rows_f32", delta_net_rows, float);
MLXN_KERNEL("delta_net_rows_bf16", delta_net_rows, bfloat);
