// simd_vote and quad_vote: bits of all threads of the group, of which inactive ones have none set.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS "device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]"

Launch threads(size_t count) {
  Launch launch;
  launch.grid = launch.group = MTL::Size(count, 1, 1);
  return launch;
}

KernelTable& table() {
  static KernelTable table({
      {"all_true",
       "kernel void all_true(" ARGS ") { simd_vote v = simd_ballot(true); out[i] = v.all() + 2 * "
       "v.any(); }",
       64, [](size_t) { return 3.0; }},
      {"one_false",
       "kernel void one_false(" ARGS ") { simd_vote v = simd_ballot(i != 40); out[i] = v.all() + 2 "
       "* v.any(); }",
       64, [](size_t i) { return i < 32 ? 3.0 : 2.0; }},
      {"none_true",
       "kernel void none_true(" ARGS ") { simd_vote v = simd_ballot(false); out[i] = v.all() + 2 * "
       "v.any(); }",
       64, [](size_t) { return 0.0; }},
      {"inactive_threads_do_not_vote",
       "kernel void inactive_threads_do_not_vote(" ARGS ") { out[i] = 9; if (i & 1) { simd_vote v "
       "= simd_ballot(true); out[i] = v.all() + 2 * v.any(); } }",
       64, [](size_t i) { return i & 1 ? 2.0 : 9.0; }},
      {"active_mask_of_some",
       "kernel void active_mask_of_some(" ARGS ") { out[i] = 9; if (i < 40) out[i] = "
       "simd_active_threads_mask().all(); }",
       64, [](size_t i) { return i < 32   ? 1.0
                                 : i < 40 ? 0.0
                                          : 9.0; }},
      {"vote_outlives_its_branch",
       "kernel void vote_outlives_its_branch(" ARGS ") { simd_vote v; if (i % 32 < 8) v = "
       "simd_ballot(true); out[i] = v.all() + 2 * v.any(); }",
       64, [](size_t i) { return i % 32 < 8 ? 2.0 : 0.0; }},
      {"partial_simdgroup",
       "kernel void partial_simdgroup(" ARGS ") { simd_vote v = simd_ballot(true); out[i] = v.all()"
       " + 2 * v.any(); }",
       50, [](size_t) { return 3.0; }, threads(50)},
      {"partial_quadgroup",
       "kernel void partial_quadgroup(" ARGS ") { quad_vote v = quad_ballot(true); out[i] = v.all()"
       " + 2 * v.any(); }",
       50, [](size_t) { return 3.0; }, threads(50)},
      {"quad_all_true",
       "kernel void quad_all_true(" ARGS ") { quad_vote v = quad_ballot(i != 5); out[i] = v.all() "
       "+ 2 * v.any(); }",
       64, [](size_t i) { return i / 4 == 1 ? 2.0 : 3.0; }},
      {"quad_inactive",
       "kernel void quad_inactive(" ARGS ") { out[i] = 9; if (i % 8 < 7) { quad_vote v = "
       "quad_active_threads_mask(); out[i] = v.all() + 2 * v.any(); } }",
       64, [](size_t i) { return i % 8 < 4   ? 3.0
                                 : i % 8 < 7 ? 2.0
                                             : 9.0; }},
      {"functions_see_the_active_only",
       "kernel void functions_see_the_active_only(" ARGS ") { out[i] = 9; if (i & 1) out[i] = "
       "simd_all(true) + 2 * quad_all(true); }",
       64, [](size_t i) { return i & 1 ? 3.0 : 9.0; }},
  });
  return table;
}
MSL_KERNELS(Vote, table);

}  // namespace
