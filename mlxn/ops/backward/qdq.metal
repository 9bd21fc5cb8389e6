// qdq_{q4_0,q8_0}: blocks of 32 values rounded to a format and back.
// Buffers: 0 input, 1 output, 2 QdqArgs. Grid: one threadgroup of 32 threads for each block, an
// element for each thread. In place is allowed. Rounded after every operation, as on the host.
#include "mlxn/ops/backward/qdq_args.h"
#include "mlxn/ops/common/kernel.h"

#pragma METAL fp contract(off)

inline float inverse_or_zero(float x) {
  const float out = 1.0f / x;
  return fabs(out) < INFINITY ? out : 0.0f;
}

struct Q4_0 {
  static float scale(float largest) { return largest / -8.0f; }
  static float code(float x, float to_code) {
    const float raised = x * to_code;
    return trunc(clamp(raised + 8.5f, 0.0f, 15.0f)) - 8.0f;
  }
};
struct Q8_0 {
  static float scale(float largest) { return fabs(largest) / 127.0f; }
  static float code(float x, float to_code) { return clamp(round(x * to_code), -127.0f, 127.0f); }
};

template <typename F>
[[kernel, max_total_threads_per_threadgroup(32)]] void qdq(
    device const float* input [[buffer(0)]], device float* output [[buffer(1)]],
    constant QdqArgs& args [[buffer(2)]], uint group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  const ulong begin = static_cast<ulong>(group) * 32;
  const float x = (input + begin)[lane];
  const bool is_number = x == x;
  // As whole numbers magnitudes keep their order.
  const uint magnitude = is_number ? as_type<uint>(x) & 0x7fffffffu : 0;
  const uint most = simd_max(magnitude);
  const uint place = simd_min(magnitude == most ? lane : 31u);  // the first of several
  const float largest = simd_shuffle(is_number ? x : 0.0f, static_cast<ushort>(place));
  const float scale = F::scale(largest);
  const float code = F::code(is_number ? x : 0.0f, inverse_or_zero(scale));
  const float result = code * static_cast<float>(static_cast<half>(scale));
  (output + begin)[lane] = is_number ? result : x;
}

MLXN_KERNEL("qdq_q4_0", qdq, Q4_0);
MLXN_KERNEL("qdq_q8_0", qdq, Q8_0);
