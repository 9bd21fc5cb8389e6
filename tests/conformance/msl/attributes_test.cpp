// Every attribute that tells a thread where it is, scalar and vector, ushort and uint.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

// A 10 x 6 x 4 grid in threadgroups of 4 x 3 x 2: x is ragged.
constexpr size_t kX = 10, kY = 6, kZ = 4, kGx = 4, kGy = 3, kGz = 2;
const Launch kRagged = {.grid = MTL::Size(kX, kY, kZ), .group = MTL::Size(kGx, kGy, kGz)};
// 100 threads in threadgroups of 40: one full simdgroup and a partial one in each, the last ragged.
const Launch kLine = {.grid = MTL::Size(100, 1, 1), .group = MTL::Size(40, 1, 1)};

struct Place {
  size_t x, y, z;
  size_t group_x() const { return x / kGx; }
  size_t width() const { return std::min(kGx, kX - group_x() * kGx); }  // of this threadgroup
};
Place place(size_t i) {
  return {i % kX, i / kX % kY, i / (kX * kY)};
}
double coded(size_t x, size_t y, size_t z) {
  return double(x + 100 * y + 10000 * z);
}

// A kernel that stores one three-component attribute at its place in the grid.
#define VECTOR3(name, attribute, T)                                                              \
  "kernel void " name "(device uint* out [[buffer(0)]], uint3 g [[thread_position_in_grid]], " T \
  " v [[" attribute                                                                              \
  "]]) { out[g.x + 10 * (g.y + 6 * g.z)] = uint(v.x) + 100 * uint(v.y) + 10000 * uint(v.z); }"
// The same for an attribute with one component.
#define SCALAR3(name, attribute, T)                                                              \
  "kernel void " name "(device uint* out [[buffer(0)]], uint3 g [[thread_position_in_grid]], " T \
  " v [[" attribute "]]) { out[g.x + 10 * (g.y + 6 * g.z)] = uint(v); }"
#define LINE(name, attribute, T)                                                                \
  "kernel void " name "(device uint* out [[buffer(0)]], uint g [[thread_position_in_grid]], " T \
  " v [[" attribute "]]) { out[g] = uint(v); }"

double position(size_t i) {
  const Place p = place(i);
  return coded(p.x, p.y, p.z);
}
double local(size_t i) {
  const Place p = place(i);
  return coded(p.x % kGx, p.y % kGy, p.z % kGz);
}
double group_position(size_t i) {
  const Place p = place(i);
  return coded(p.x / kGx, p.y / kGy, p.z / kGz);
}
double local_index(size_t i) {
  const Place p = place(i);
  return double(p.x % kGx + p.width() * (p.y % kGy + kGy * (p.z % kGz)));
}
double threads_here(size_t i) {
  return coded(place(i).width(), kGy, kGz);
}

KernelTable& table() {
  static KernelTable table({
      {"grid_position_uint3", VECTOR3("grid_position_uint3", "thread_position_in_grid", "uint3"),
       240, position, kRagged},
      {"grid_position_ushort3",
       VECTOR3("grid_position_ushort3", "thread_position_in_grid", "ushort3"), 240, position,
       kRagged},
      {"local_position_uint3",
       VECTOR3("local_position_uint3", "thread_position_in_threadgroup", "uint3"), 240, local,
       kRagged},
      {"local_position_ushort3",
       VECTOR3("local_position_ushort3", "thread_position_in_threadgroup", "ushort3"), 240, local,
       kRagged},
      {"group_position_uint3",
       VECTOR3("group_position_uint3", "threadgroup_position_in_grid", "uint3"), 240,
       group_position, kRagged},
      {"group_position_ushort3",
       VECTOR3("group_position_ushort3", "threadgroup_position_in_grid", "ushort3"), 240,
       group_position, kRagged},
      {"threads_per_grid_uint3", VECTOR3("threads_per_grid_uint3", "threads_per_grid", "uint3"),
       240, [](size_t) { return coded(kX, kY, kZ); }, kRagged},
      {"threads_per_grid_ushort3",
       VECTOR3("threads_per_grid_ushort3", "threads_per_grid", "ushort3"), 240,
       [](size_t) { return coded(kX, kY, kZ); }, kRagged},
      {"groups_per_grid_uint3", VECTOR3("groups_per_grid_uint3", "threadgroups_per_grid", "uint3"),
       240, [](size_t) { return coded(3, 2, 2); }, kRagged},
      {"groups_per_grid_ushort3",
       VECTOR3("groups_per_grid_ushort3", "threadgroups_per_grid", "ushort3"), 240,
       [](size_t) { return coded(3, 2, 2); }, kRagged},
      {"threads_per_group_uint3",
       VECTOR3("threads_per_group_uint3", "threads_per_threadgroup", "uint3"), 240, threads_here,
       kRagged},
      {"threads_per_group_ushort3",
       VECTOR3("threads_per_group_ushort3", "threads_per_threadgroup", "ushort3"), 240,
       threads_here, kRagged},
      {"dispatch_threads_uint3",
       VECTOR3("dispatch_threads_uint3", "dispatch_threads_per_threadgroup", "uint3"), 240,
       [](size_t) { return coded(kGx, kGy, kGz); }, kRagged},
      {"local_index_uint", SCALAR3("local_index_uint", "thread_index_in_threadgroup", "uint"), 240,
       local_index, kRagged},
      {"local_index_ushort", SCALAR3("local_index_ushort", "thread_index_in_threadgroup", "ushort"),
       240, local_index, kRagged},
      {"grid_position_uint", LINE("grid_position_uint", "thread_position_in_grid", "uint"), 100,
       [](size_t i) { return double(i); }, kLine},
      {"grid_position_ushort", LINE("grid_position_ushort", "thread_position_in_grid", "ushort"),
       100, [](size_t i) { return double(i); }, kLine},
      {"local_position_uint", LINE("local_position_uint", "thread_position_in_threadgroup", "uint"),
       100, [](size_t i) { return double(i % 40); }, kLine},
      {"local_position_ushort",
       LINE("local_position_ushort", "thread_position_in_threadgroup", "ushort"), 100,
       [](size_t i) { return double(i % 40); }, kLine},
      {"group_position_uint", LINE("group_position_uint", "threadgroup_position_in_grid", "uint"),
       100, [](size_t i) { return double(i / 40); }, kLine},
      {"group_position_ushort",
       LINE("group_position_ushort", "threadgroup_position_in_grid", "ushort"), 100,
       [](size_t i) { return double(i / 40); }, kLine},
      {"threads_per_grid_uint", LINE("threads_per_grid_uint", "threads_per_grid", "uint"), 100,
       [](size_t) { return 100; }, kLine},
      {"groups_per_grid_uint", LINE("groups_per_grid_uint", "threadgroups_per_grid", "uint"), 100,
       [](size_t) { return 3; }, kLine},
      {"threads_per_group_uint", LINE("threads_per_group_uint", "threads_per_threadgroup", "uint"),
       100, [](size_t i) { return i < 80 ? 40 : 20; }, kLine},
      {"dispatch_threads_uint",
       LINE("dispatch_threads_uint", "dispatch_threads_per_threadgroup", "uint"), 100,
       [](size_t) { return 40; }, kLine},
      {"lane_uint", LINE("lane_uint", "thread_index_in_simdgroup", "uint"), 100,
       [](size_t i) { return double(i % 40 % 32); }, kLine},
      {"lane_ushort", LINE("lane_ushort", "thread_index_in_simdgroup", "ushort"), 100,
       [](size_t i) { return double(i % 40 % 32); }, kLine},
      {"simdgroup_uint", LINE("simdgroup_uint", "simdgroup_index_in_threadgroup", "uint"), 100,
       [](size_t i) { return double(i % 40 / 32); }, kLine},
      {"simdgroup_ushort", LINE("simdgroup_ushort", "simdgroup_index_in_threadgroup", "ushort"),
       100, [](size_t i) { return double(i % 40 / 32); }, kLine},
      {"simdgroups_uint", LINE("simdgroups_uint", "simdgroups_per_threadgroup", "uint"), 100,
       [](size_t i) { return i < 80 ? 2 : 1; }, kLine},
      {"simdgroups_ushort", LINE("simdgroups_ushort", "simdgroups_per_threadgroup", "ushort"), 100,
       [](size_t i) { return i < 80 ? 2 : 1; }, kLine},
      {"dispatch_simdgroups",
       LINE("dispatch_simdgroups", "dispatch_simdgroups_per_threadgroup", "uint"), 100,
       [](size_t) { return 2; }, kLine},
      {"simd_width_uint", LINE("simd_width_uint", "threads_per_simdgroup", "uint"), 100,
       [](size_t) { return 32; }, kLine},
      {"simd_width_ushort", LINE("simd_width_ushort", "threads_per_simdgroup", "ushort"), 100,
       [](size_t) { return 32; }, kLine},
      {"execution_width", LINE("execution_width", "thread_execution_width", "uint"), 100,
       [](size_t) { return 32; }, kLine},
      {"quad_lane", LINE("quad_lane", "thread_index_in_quadgroup", "uint"), 100,
       [](size_t i) { return double(i % 40 % 4); }, kLine},
      {"quadgroup_index", LINE("quadgroup_index", "quadgroup_index_in_threadgroup", "uint"), 100,
       [](size_t i) { return double(i % 40 / 4); }, kLine},
      {"quadgroups", LINE("quadgroups", "quadgroups_per_threadgroup", "uint"), 100,
       [](size_t i) { return i < 80 ? 10 : 5; }, kLine},
      {"position_uint2",
       "kernel void position_uint2(device uint* out [[buffer(0)]], uint2 p "
       "[[thread_position_in_grid]], uint2 n [[threads_per_grid]])"
       " { out[p.x + n.x * p.y] = p.x + 100 * p.y; }",
       60,
       [](size_t i) { return double(i % 10 + 100 * (i / 10)); },
       {.grid = MTL::Size(10, 6, 1), .group = MTL::Size(4, 4, 1)}},
      {"position_ushort2",
       "kernel void position_ushort2(device uint* out [[buffer(0)]], ushort2 p "
       "[[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]])"
       " { out[g.x * 4 + p.x + 10 * (g.y * 4 + p.y)] = p.x + 100 * p.y; }",
       60,
       [](size_t i) { return double(i % 10 % 4 + 100 * (i / 10 % 4)); },
       {.grid = MTL::Size(10, 6, 1), .group = MTL::Size(4, 4, 1)}},
      {"by_threadgroups",
       "kernel void by_threadgroups(device uint* out [[buffer(0)]], uint i "
       "[[thread_position_in_grid]], uint n [[threads_per_grid]], uint g [[threadgroups_per_grid]])"
       " { out[i] = n + 1000 * g; }",
       96,
       [](size_t) { return 96 + 3000; },
       {.grid = MTL::Size(3, 1, 1), .group = MTL::Size(32, 1, 1), .by_groups = true}},
      {"max_threads_attribute",
       "[[max_total_threads_per_threadgroup(64)]] kernel void max_threads_attribute(device uint* "
       "out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = i; }",
       64, [](size_t i) { return double(i); }},
      {"one_thread",
       "kernel void one_thread(device uint* out [[buffer(0)]]) { out[0] = 17; }",
       1,
       [](size_t) { return 17; },
       {.grid = MTL::Size(1, 1, 1), .group = MTL::Size(1, 1, 1)}},
      {"positions_as_struct_free_arguments",
       "uint helper(uint3 p, uint3 n) { return p.x + n.x * (p.y + n.y * p.z); }\n"
       "kernel void positions_as_struct_free_arguments(device uint* out [[buffer(0)]], uint3 p "
       "[[thread_position_in_grid]], uint3 n [[threads_per_grid]])"
       " { out[helper(p, n)] = helper(p, n); }",
       240, [](size_t i) { return double(i); }, kRagged},
  });
  return table;
}
MSL_KERNELS(Attributes, table);

}  // namespace
