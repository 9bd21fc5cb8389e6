// moe_combine_{f32,f16,bf16}, by the type of the experts' outputs: output[t] = residual[t] +
// sigmoid(shared_logits[t]) * shared[t] + sum over slots of weights[t, s] * experts[t, s].
// Buffers: 0 experts [tokens, slots, dim], 1 weights [tokens, slots], 2 residual, 3 shared
// [tokens, dim], 4 shared logits [tokens] (anything where they are left out), 5 output [tokens,
// dim], 6 MoeCombineArgs. Grid: a thread for each element, (dim, tokens).
// moe_combine_norm_{...}: output = residual + rms_norm(sum) * weight, or with a weight for the
// residual the sum of both norms. Buffers: 0 experts, 1 weights, 2 norm weight [dim], 3 residual,
// 4 residual weight [dim], 5 output, 6 MoeCombineNormArgs. Grid: a threadgroup for each token.
// Threadgroup memory 0: a float for each thread. The output may be the residual.
#include "mlxn/ops/common/reduce.h"
#include "mlxn/ops/moe/moe_args.h"

// Element `i` of a token's weighted sum, added up in the order of the slots.
template <typename T>
inline float weighted(device const T* experts, device const float* weights, uint dim, uint slots,
                      uint i) {
  Accumulator sum = 0;
  for (uint s = 0; s < slots; ++s) {
    sum += weights[s] * static_cast<float>((experts + static_cast<ulong>(s) * dim)[i]);
  }
  return static_cast<float>(sum);
}

template <typename T>
[[kernel]] void moe_combine(
    device const T* experts [[buffer(0)]], device const float* weights [[buffer(1)]],
    device const float* residual [[buffer(2)]], device const float* shared [[buffer(3)]],
    device const float* shared_logits [[buffer(4)]], device float* output [[buffer(5)]],
    constant MoeCombineArgs& args [[buffer(6)]], uint2 place [[thread_position_in_grid]]) {
  const uint i = place.x;
  const ulong token = place.y, row = token * args.dim;
  float sum =
      weighted(experts + row * args.slots, weights + token * args.slots, args.dim, args.slots, i);
  if (args.has_shared != 0) {
    const float gate = 1.0f / (1.0f + exp(-shared_logits[token]));
    sum += gate * (shared + row)[i];
  }
  if (args.has_residual != 0) sum += (residual + row)[i];
  (output + row)[i] = sum;
}

constant constexpr uint kColumns = 8;  // of a thread at a time, `threads` apart
constant constexpr uint kKept = 4096;  // columns whose sums are kept until the norm is known

// A token's sums over its slots, for the columns from `experts` on; `left` of them exist, from the
// simdgroup's first one. All threads call.
template <typename T>
inline void weighted_columns(device const T* experts, device const float* weights,
                             constant MoeCombineNormArgs& args, uint left, uint lane, uint threads,
                             thread Accumulator* sums) {
  for (uint j = 0; j < kColumns; ++j) sums[j] = 0;
  const bool whole = left >= (kColumns - 1) * threads + 32;
  for (uint s = 0; s < args.slots; ++s) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes read side by side
    device const T* row = experts + static_cast<ulong>(s) * args.dim;
    const float weight = weights[s];
    if (whole) {
      for (uint j = 0; j < kColumns; ++j) {
        sums[j] += weight * static_cast<float>((row + j * threads)[lane]);
      }
    } else {
      for (uint j = 0; j < kColumns; ++j) {
        if (j * threads + lane < left) {
          sums[j] += weight * static_cast<float>((row + j * threads)[lane]);
        }
      }
    }
  }
}

template <typename T>
[[kernel]] void moe_combine_norm(
    device const T* experts [[buffer(0)]], device const float* weights [[buffer(1)]],
    device const float* norm_weight [[buffer(2)]], device const float* residual [[buffer(3)]],
    device const float* residual_weight [[buffer(4)]], device float* output [[buffer(5)]],
    constant MoeCombineNormArgs& args [[buffer(6)]], threadgroup float* scratch [[threadgroup(0)]],
    uint token [[threadgroup_position_in_grid]], uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float kept[kKept];
  const Place place = {lane, simdgroup, simdgroups};
  const ulong row = static_cast<ulong>(token) * args.dim;
  device const T* x = experts + row * args.slots;
  device const float* w = weights + static_cast<ulong>(token) * args.slots;
  const uint base = 32 * simdgroup, step = kColumns * threads;
  Accumulator own[kColumns], squares = 0, residual_squares = 0;
  for (ulong begin = base; begin < args.dim; begin += step) {
    const uint left = args.dim - static_cast<uint>(begin);
    weighted_columns(x + begin, w, args, left, lane, threads, own);
    for (uint j = 0; j < kColumns; ++j) {
      simdgroup_barrier(mem_flags::mem_none);
      const ulong i = begin + j * threads;
      float other = 0;
      if (j * threads + lane < left) other = (residual + row + i)[lane];
      if (begin - base + step <= kKept) (kept + i)[lane] = own[j];
      squares += own[j] * own[j];
      residual_squares += other * other;
    }
  }
  const float count = static_cast<float>(args.dim);
  const float inverse =
      1.0f / sqrt(threadgroup_sum(static_cast<float>(squares), scratch, place) / count + args.eps);
  const float total = threadgroup_sum(static_cast<float>(residual_squares), scratch, place);
  const bool norms = args.has_residual_weight != 0;
  const float residual_inverse = norms ? 1.0f / sqrt(total / count + args.eps) : 1.0f;
  for (ulong begin = base; begin < args.dim; begin += step) {
    const uint left = args.dim - static_cast<uint>(begin);
    const bool known = begin - base + step <= kKept;
    if (!known) weighted_columns(x + begin, w, args, left, lane, threads, own);
    for (uint j = 0; j < kColumns; ++j) {
      simdgroup_barrier(mem_flags::mem_none);  // ... and store so
      const ulong i = begin + j * threads;
      if (j * threads + lane < left) {
        const float sum = known ? (kept + i)[lane] : static_cast<float>(own[j]);
        const float scale = norms ? residual_inverse * (residual_weight + i)[lane] : 1.0f;
        const float norm = sum * inverse * (norm_weight + i)[lane];
        (output + row + i)[lane] = (residual + row + i)[lane] * scale + norm;
      }
    }
  }
}

MLXN_KERNEL("moe_combine_f32", moe_combine, float);
MLXN_KERNEL("moe_combine_f16", moe_combine, half);
MLXN_KERNEL("moe_combine_bf16", moe_combine, bfloat);
MLXN_KERNEL("moe_combine_norm_f32", moe_combine_norm, float);
MLXN_KERNEL("moe_combine_norm_f16", moe_combine_norm, half);
MLXN_KERNEL("moe_combine_norm_bf16", moe_combine_norm, bfloat);
