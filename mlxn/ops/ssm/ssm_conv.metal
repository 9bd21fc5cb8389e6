// ssm_conv_{f32,f16,bf16} for any taps, ssm_conv_4_{...} for four: depthwise causal convolution,
// SiLU and the state for the next tokens.
// Buffers: 0 input [sequences, tokens, channels], 1 weight [channels, taps], 2 state [sequences,
// channels, taps - 1], 3 output, 4 new state, 5 SsmConvArgs. Grid: a thread for a run of
// tokens of a channel, (channels, tokens / run, sequences); any threadgroup of one row. The thread
// of a channel's first tokens alone reads the state and writes the new one, so they may be the
// same.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/ssm/ssm_conv_args.h"

// A channel of a sequence: its state followed by its inputs.
template <typename T>
struct Channel {
  device const T* input;
  device const T* state;
  uint channels, before;  // elements of the state

  float at(uint i) const {
    if (i < before) return static_cast<float>(state[i]);
    return static_cast<float>(input[static_cast<ulong>(i - before) * channels]);
  }
};

template <typename T>
inline T activated(float sum) {
  return static_cast<T>(sum / (1.0f + exp(-sum)));
}

template <typename T>
inline void roll(Channel<T> x, device T* state, uint tokens) {
  for (uint i = 0; i < x.before; ++i) {  // rising: what is overwritten was read
    state[i] = tokens + i < x.before
                   ? x.state[tokens + i]
                   : x.input[static_cast<ulong>(tokens + i - x.before) * x.channels];
  }
}

// A run of tokens from `begin` on; `output` is the channel's.
template <typename T>
inline void convolve(Channel<T> x, device const T* weight, device T* output, uint begin,
                     constant SsmConvArgs& args) {
  const uint end = min(begin + args.run, args.tokens);
  for (uint t = begin; t < end; ++t) {
    Accumulator sum = 0;
    for (uint k = 0; k < args.taps; ++k) sum += static_cast<float>(weight[k]) * x.at(t + k);
    output[static_cast<ulong>(t) * x.channels] = activated<T>(static_cast<float>(sum));
  }
}

// Four taps, with what the run sees read once, before anything is written.
template <typename T>
inline void convolve_4(Channel<T> x, device const T* weight, device T* output, uint begin,
                       constant SsmConvArgs& args) {
  const uint count = min(kConvTokens, args.tokens - begin);
  float seen[kConvTokens + 3], w[4];
  for (uint k = 0; k < 4; ++k) w[k] = static_cast<float>(weight[k]);
  if (begin == 0) {
    for (uint i = 0; i < 3; ++i) seen[i] = static_cast<float>(x.state[i]);
  } else {
    for (uint i = 0; i < 3; ++i) {
      seen[i] = static_cast<float>(x.input[static_cast<ulong>(begin + i - 3) * x.channels]);
    }
  }
  for (uint i = 0; i < kConvTokens; ++i) {
    simdgroup_barrier(mem_flags::mem_none);  // the lanes load side by side
    const uint at = begin + min(i, count - 1);
    seen[3 + i] = static_cast<float>(x.input[static_cast<ulong>(at) * x.channels]);
  }
  for (uint i = 0; i < kConvTokens; ++i) {
    simdgroup_barrier(mem_flags::mem_none);  // ... and store so
    Accumulator sum = 0;
    for (uint k = 0; k < 4; ++k) sum += w[k] * seen[i + k];
    const T result = activated<T>(static_cast<float>(sum));
    if (i < count) output[static_cast<ulong>(begin + i) * x.channels] = result;
  }
}

// kFour: for four taps alone.
template <typename T, bool kFour>
[[kernel]] void ssm_conv(device const T* input [[buffer(0)]], device const T* weight [[buffer(1)]],
                         device const T* state [[buffer(2)]], device T* output [[buffer(3)]],
                         device T* new_state [[buffer(4)]],
                         constant SsmConvArgs& args [[buffer(5)]],
                         uint3 place [[thread_position_in_grid]]) {
  const uint taps = kFour ? 4 : args.taps, c = place.x;
  const ulong first = static_cast<ulong>(place.z) * args.tokens * args.channels;
  const ulong state_row = (static_cast<ulong>(place.z) * args.channels + c) * (taps - 1);
  const Channel<T> x = {input + first + c, state + state_row, args.channels, taps - 1};
  device const T* w = weight + static_cast<ulong>(c) * taps;
  if (kFour) {
    convolve_4(x, w, output + first + c, place.y * kConvTokens, args);
  } else {
    convolve(x, w, output + first + c, place.y * args.run, args);
  }
  if (place.y == 0) roll(x, new_state + state_row, args.tokens);
}

MLXN_KERNEL("ssm_conv_f32", ssm_conv, float, false);
MLXN_KERNEL("ssm_conv_f16", ssm_conv, half, false);
MLXN_KERNEL("ssm_conv_bf16", ssm_conv, bfloat, false);
MLXN_KERNEL("ssm_conv_4_f32", ssm_conv, float, true);
MLXN_KERNEL("ssm_conv_4_f16", ssm_conv, half, true);
MLXN_KERNEL("ssm_conv_4_bf16", ssm_conv, bfloat, true);
