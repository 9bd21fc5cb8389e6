// Threadgroup memory, barriers and argument structs with pointers.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                                                    \
  "device uint* out [[buffer(0)]], const device uint* u [[buffer(2)]], uint i "                 \
  "[[thread_position_in_grid]], "                                                               \
  "uint l [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint n " \
  "[[threads_per_threadgroup]]"
#define BARRIER "threadgroup_barrier(mem_flags::mem_threadgroup); "

Launch groups(size_t threads, size_t size) {
  Launch launch;
  launch.grid = MTL::Size(threads, 1, 1);
  launch.group = MTL::Size(size, 1, 1);
  return launch;
}
Launch with_memory(Launch launch, std::vector<uint32_t> bytes) {
  launch.threadgroup_bytes = std::move(bytes);
  return launch;
}
double sum(size_t from, size_t to) {
  double s = 0;
  for (size_t i = from; i < to; ++i) s += uint_input(i);
  return s;
}
// Reverses each threadgroup through shared memory.
#define REVERSE(name)                                                                \
  "kernel void " name "(" ARGS ") { threadgroup uint s[1024]; s[l] = u[i]; " BARRIER \
  "out[i] = s[n - 1 - l]; }"
std::function<double(size_t)> reversed(size_t total, size_t size) {
  return [=](size_t i) {
    const size_t first = i / size * size, count = std::min(size, total - first);
    return double(uint_input(first + count - 1 - (i - first)));
  };
}

// The same with a class of which no constructor may run: it would wipe what other threads wrote.
#define UNCONSTRUCTED(type) \
  ") { threadgroup " type " s[1024]; s[l].value = u[i]; " BARRIER "out[i] = s[n - 1 - l].value; }"

KernelTable& table() {
  static KernelTable table(
      {
          {"reverse_1", REVERSE("reverse_1"), 7, reversed(7, 1), groups(7, 1)},
          {"reverse_31", REVERSE("reverse_31"), 93, reversed(93, 31), groups(93, 31)},
          {"reverse_33", REVERSE("reverse_33"), 99, reversed(99, 33), groups(99, 33)},
          {"reverse_100", REVERSE("reverse_100"), 300, reversed(300, 100), groups(300, 100)},
          {"reverse_1024", REVERSE("reverse_1024"), 2048, reversed(2048, 1024), groups(2048, 1024)},
          {"reverse_ragged", REVERSE("reverse_ragged"), 250, reversed(250, 64), groups(250, 64)},
          {"tree_sum",
           "kernel void tree_sum(" ARGS ") { threadgroup uint s[256]; s[l] = u[i]; " BARRIER
           "for (uint d = n / 2; d > 0; d /= 2) { if (l < d) s[l] += s[l + d]; " BARRIER
           "} if (l == 0) out[g] = s[0]; }",
           4, [](size_t g) { return sum(g * 256, g * 256 + 256); }, groups(1024, 256)},
          {"barrier_in_loop",
           "kernel void barrier_in_loop(" ARGS
           ") { threadgroup uint s[64]; uint x = u[i]; for (uint k "
           "= 0; k < 5; ++k) { s[l] = x; " BARRIER "x += s[(l + 1) % n]; " BARRIER
           "} out[i] = x; }",
           64,
           [](size_t i) {
             const int binomial[] = {1, 5, 10, 10, 5, 1};
             double x = 0;
             for (size_t k = 0; k < 6; ++k) x += binomial[k] * double(uint_input((i + k) % 64));
             return x;
           }},
          {"barrier_in_uniform_branch",
           "kernel void barrier_in_uniform_branch(" ARGS
           ") { threadgroup uint s[32]; s[l] = u[i]; if (g % 2 == 0) { " BARRIER
           "out[i] = s[(l + 3) % 32]; } else { out[i] = 7; } }",
           128,
           [](size_t i) { return i / 32 % 2 ? 7 : double(uint_input(i / 32 * 32 + (i + 3) % 32)); },
           groups(128, 32)},
          {"barrier_count_from_memory",
           "kernel void barrier_count_from_memory(" ARGS
           ") { threadgroup uint s[32]; uint x = l; for (uint k = 0; k < u[0]; ++k) { s[l] = "
           "x; " BARRIER "x = s[(l + 1) % 32]; " BARRIER "} out[i] = x; }",
           32, [](size_t i) { return double((i + uint_input(0)) % 32); }, groups(32, 32)},
          {"return_before_barrier",
           "kernel void return_before_barrier(" ARGS
           ") { threadgroup uint s[64]; if (l >= 40) { out[i] = 1; return; } s[l] = u[i]; " BARRIER
           "out[i] = s[39 - l]; }",
           64, [](size_t i) { return i >= 40 ? 1 : double(uint_input(39 - i)); }},
          {"return_by_data_before_barrier",
           "kernel void return_by_data_before_barrier(" ARGS
           ") { threadgroup uint s[64]; s[l] = 0; " BARRIER
           "if (u[i] % 2) { out[i] = 9; return; } s[l] = 1; " BARRIER
           "uint c = 0; for (uint k = 0; k < n; ++k) c += s[k]; out[i] = c; }",
           64,
           [](size_t i) {
             double c = 0;
             for (size_t k = 0; k < 64; ++k) c += uint_input(k) % 2 == 0;
             return uint_input(i) % 2 ? 9 : c;
           }},
          {"barrier_in_function",
           "uint exchange(threadgroup uint* s, uint l, uint x, uint n) { s[l] = x; " BARRIER
           "uint y = s[n - 1 - l]; " BARRIER "return y; }\n"
           "kernel void barrier_in_function(" ARGS
           ") { threadgroup uint s[64]; uint a = exchange(s, "
           "l, u[i], n); out[i] = exchange(s, l, a + 1, n); }",
           64, [](size_t i) { return double(uint_input(i)) + 1; }},
          {"dynamic_memory",
           "kernel void dynamic_memory(" ARGS
           ", threadgroup uint* s [[threadgroup(0)]]) { s[l] = u[i]; " BARRIER
           "out[i] = s[n - 1 - l]; }",
           128, reversed(128, 64), with_memory(groups(128, 64), {256})},
          {"two_dynamic_memories",
           "kernel void two_dynamic_memories(" ARGS
           ", threadgroup uint* s [[threadgroup(0)]], threadgroup float* t [[threadgroup(1)]]) {"
           " s[l] = u[i]; t[l] = float(l); " BARRIER
           "out[i] = s[n - 1 - l] + uint(t[0]) + uint(t[n - 1]); }",
           64, [](size_t i) { return reversed(64, 64)(i) + 63; },
           with_memory(groups(64, 64), {256, 256})},
          {"static_and_dynamic",
           "kernel void static_and_dynamic(" ARGS ", threadgroup uchar* raw [[threadgroup(0)]]) { "
           "threadgroup uint s[1024]; threadgroup uint* d "
           "= (threadgroup uint*)raw;"
           " s[l] = 1; d[l] = u[i]; " BARRIER "out[i] = d[n - 1 - l] + s[l]; }",
           64, [](size_t i) { return reversed(64, 64)(i) + 1; },
           with_memory(groups(64, 64), {256})},
          {"several_static_arrays",
           "kernel void several_static_arrays(" ARGS
           ") { threadgroup uint a[1024]; threadgroup half "
           "b[1024]; threadgroup float4 c[1024]; a[l] = l; "
           "b[l] = half(l); c[l] = float4(l); " BARRIER
           "uint m = n - 1 - l; out[i] = a[m] + uint(b[m]) + uint(c[m].w); }",
           64, [](size_t i) { return 3.0 * double(63 - i); }},
          {"static_2d_array",
           "kernel void static_2d_array(device uint* out [[buffer(0)]], uint2 p "
           "[[thread_position_in_threadgroup]]) { threadgroup uint t[8][9]; t[p.y][p.x] = p.x + 10 "
           "* "
           "p.y; " BARRIER "out[p.x + 8 * p.y] = t[p.x][p.y]; }",
           64,
           [](size_t i) { return double(i / 8 + 10 * (i % 8)); },
           {.grid = MTL::Size(8, 8, 1), .group = MTL::Size(8, 8, 1)}},
          {"static_scalar",
           "kernel void static_scalar(" ARGS
           ") { threadgroup uint total; if (l == 0) total = u[g]; " BARRIER "out[i] = total; }",
           128, [](size_t i) { return double(uint_input(i / 32)); }, groups(128, 32)},
          {"static_struct",
           "struct Shared { uint count; float2 v[4]; };\n"
           "kernel void static_struct(" ARGS
           ") { threadgroup Shared s; if (l == 0) s.count = 5; if (l "
           "< 4) s.v[l] = float2(l, 2 * l); " BARRIER "out[i] = s.count + uint(s.v[l % 4].y); }",
           64, [](size_t i) { return 5 + 2.0 * double(i % 4); }},
          {"array_passed_to_template",
           "template <int N> uint sum_shared(threadgroup uint (&s)[N]) { uint t = 0; for (int k = "
           "0; k "
           "< N; ++k) t += s[k]; return t; }\n"
           "kernel void array_passed_to_template(" ARGS
           ") { threadgroup uint s[16]; if (l < 16) s[l] = l; " BARRIER "out[i] = sum_shared(s); }",
           64, [](size_t) { return 120; }},
          {"device_memory_barrier",
           "kernel void device_memory_barrier(" ARGS
           ", device uint* scratch [[buffer(3)]]) { scratch[l] = u[i]; "
           "threadgroup_barrier(mem_flags::mem_device); out[i] = scratch[n - 1 - l]; }",
           64, reversed(64, 64)},
          {"simdgroup_barrier_orders_lanes",
           "kernel void simdgroup_barrier_orders_lanes(" ARGS
           ") { threadgroup uint s[1024]; s[l] = u[i]; "
           "simdgroup_barrier(mem_flags::mem_threadgroup); "
           "out[i] = s[l ^ 1]; }",
           64, [](size_t i) { return double(uint_input(i ^ 1)); }},
          {"combined_flags",
           "kernel void combined_flags(" ARGS
           ") { threadgroup uint s[1024]; s[l] = u[i]; threadgroup_barrier(mem_flags::mem_device | "
           "mem_flags::mem_threadgroup); out[i] = s[n - 1 - l]; }",
           64, reversed(64, 64)},
          {"memory_is_private_to_group",
           "kernel void memory_is_private_to_group(" ARGS
           ") { threadgroup uint s[8]; if (l == 0) for (uint k = 0; k < 8; ++k) s[k] = g; " BARRIER
           "out[i] = s[l % 8]; }",
           512, [](size_t i) { return double(i / 8); }, groups(512, 8)},
          {"private_values_survive_barriers",
           "kernel void private_values_survive_barriers(" ARGS
           ") { uint a[8]; for (uint k = 0; k < 8; ++k) a[k] = u[i + k]; " BARRIER
           "float4 v(l, 1, 2, 3); " BARRIER
           "uint s = 0; for (uint k = 0; k < 8; ++k) s += a[(k + l) % 8]; " BARRIER
           "out[i] = s + uint(v.x); }",
           64, [](size_t i) { return sum(i, i + 8) + double(i); }},
          {"barrier_between_two_loops",
           "kernel void barrier_between_two_loops(" ARGS
           ") { threadgroup uint s[128]; for (uint k = l; k < 128; k += n) s[k] = u[k]; " BARRIER
           "uint t = 0; for (uint k = 0; k < 128; ++k) t += s[k]; out[i] = t; }",
           50, [](size_t) { return sum(0, 128); }, groups(50, 50)},
          {"no_constructor", "kernel void no_constructor(" ARGS UNCONSTRUCTED("Constructed"), 64,
           reversed(64, 64)},
          {"no_member_initialiser",
           "kernel void no_member_initialiser(" ARGS UNCONSTRUCTED("Initialised"), 64,
           reversed(64, 64)},
          {"no_constructor_of_members",
           "struct Holder { Constructed value; }; kernel void no_constructor_of_members(" ARGS
           ") { threadgroup Holder s[1024]; s[l].value.value = u[i]; " BARRIER
           "out[i] = s[n - 1 - l].value.value; }",
           64, reversed(64, 64)},
          {"no_constructor_in_template",
           "template <typename T> kernel void constructed(" ARGS UNCONSTRUCTED(
               "T") " template [[host_name(\"no_constructor_in_template\")]] kernel void "
                    "constructed<Constructed>(" ARGS ");",
           64, reversed(64, 64)},
          {"no_constructor_of_one_variable",
           "kernel void no_constructor_of_one_variable(" ARGS
           ") { threadgroup Constructed one; if (l == 0) one.value = u[0]; " BARRIER
           "out[i] = one.value; }",
           64, [](size_t) { return double(uint_input(0)); }},
      },
      "struct Constructed { uint value; Constructed() thread : value(0) {} Constructed() "
      "threadgroup : value(0) {} };\n"
      "struct Initialised { uint value = 0; };\n");
  return table;
}
MSL_KERNELS(Threadgroup, table);

}  // namespace
