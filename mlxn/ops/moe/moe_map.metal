// moe_map_u32: rows by expert. Each threadgroup counts the ids below its expert, which is where its
// rows begin, and lists its own; the one behind the last expert fills up the rest.
// Buffers: 0 ids [rows], 1 offsets [experts + 1], 2 lists [rows], 3 MoeMapArgs. Grid: threadgroups
// of 32 threads, one for each expert and one more.
#include "mlxn/ops/common/kernel.h"
#include "mlxn/ops/moe/moe_args.h"

[[kernel, max_total_threads_per_threadgroup(32)]] void moe_map_u32(
    device const uint* ids [[buffer(0)]], device uint* offsets [[buffer(1)]],
    device uint* lists [[buffer(2)]], constant MoeMapArgs& args [[buffer(3)]],
    uint expert [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  uint below = 0, own = 0;
  for (uint i = lane; i < args.rows; i += 32) {
    below += ids[i] < expert ? 1u : 0u;
    own += ids[i] == expert ? 1u : 0u;
  }
  uint at = simd_sum(below);
  if (lane == 0) offsets[expert] = at;
  if (expert == args.experts) {
    for (uint i = at + lane; i < args.rows; i += 32) lists[i] = ~0u;
    return;
  }
  if (simd_max(own) == 0) return;
  for (uint i = 0; i < args.rows; i += 32) {
    const bool is_own = i + lane < args.rows && (ids + i)[lane] == expert;
    const uint here = is_own ? 1u : 0u;
    if (simd_max(here) == 0) continue;
    const uint before = simd_prefix_exclusive_sum(here);
    if (is_own) lists[at + before] = i + lane;
    at += simd_sum(here);
  }
}
