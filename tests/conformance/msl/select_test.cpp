// Choices between things of one kind: arguments, positions, pointers, cross-lane functions. An
// optimiser likes to turn such a choice into one access with a chosen operand.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                                          \
  "device uint* out [[buffer(0)]], const device uint* f [[buffer(1)]], const device " \
  "uint* u [[buffer(2)]], device uint* z [[buffer(3)]], uint i [[thread_position_in_grid]]"

double bits_of(size_t i) {
  return as_bits(float_input(i));
}
Launch plane() {
  Launch launch;
  launch.grid = MTL::Size(8, 16, 1);
  launch.group = MTL::Size(8, 4, 1);
  return launch;
}
Launch with_memory() {
  Launch launch;
  launch.threadgroup_bytes = {256, 256};
  return launch;
}

KernelTable& table() {
  static KernelTable table({
      {"value_of_two_buffers",
       "kernel void value_of_two_buffers(" ARGS ") { out[i] = z[0] ? f[i] : u[i]; }", 64,
       [](size_t i) { return double(uint_input(i)); }},
      {"value_of_three_buffers",
       "kernel void value_of_three_buffers(" ARGS
       ") { uint v; if (u[0] == 5) v = f[i]; else if (u[0] == 6) v = z[i]; else v = u[i];"
       " out[i] = v; }",
       64, bits_of},
      {"value_by_lane", "kernel void value_by_lane(" ARGS ") { out[i] = i & 1 ? f[i] : u[i]; }", 64,
       [](size_t i) { return i & 1 ? bits_of(i) : double(uint_input(i)); }},
      {"pointer_to_two_buffers",
       "kernel void pointer_to_two_buffers(" ARGS
       ") { const device uint* p = z[0] ? f : u; out[i] = p[i]; }",
       64, [](size_t i) { return double(uint_input(i)); }},
      {"pointer_in_a_loop",
       "kernel void pointer_in_a_loop(" ARGS
       ") { const device uint* p = f; const device uint* q = u; uint s = 0;"
       " for (uint k = 0; k < 6; ++k) { s += p[i] & 255; auto t = p; p = q; q = t; } out[i] = s; }",
       64, [](size_t i) { return 3.0 * (as_bits(float_input(i)) & 255) + 3.0 * uint_input(i); }},
      {"pointer_by_switch",
       "kernel void pointer_by_switch(" ARGS
       ") { const device uint* p; switch (i % 4) { case 0: p = f; break; case 1: p = u; break;"
       " default: p = z; } out[i] = p[i]; }",
       64,
       [](size_t i) { return i % 4 == 0   ? bits_of(i)
                             : i % 4 == 1 ? double(uint_input(i))
                                          : 0; }},
      {"store_to_two_buffers",
       "kernel void store_to_two_buffers(" ARGS
       ") { out[i] = 7; if (z[255]) z[i] = i; else out[i] = i; }",
       64, [](size_t i) { return double(i); }},
      {"threadgroup_and_device",
       "kernel void threadgroup_and_device(" ARGS
       ", threadgroup uint* a [[threadgroup(0)]], threadgroup uint* b [[threadgroup(1)]])"
       " { a[i] = i; b[i] = 100 + i; threadgroup_barrier(mem_flags::mem_threadgroup);"
       " out[i] = z[0] ? a[63 - i] : b[63 - i]; }",
       64, [](size_t i) { return 163.0 - double(i); }, with_memory()},
      {"threadgroup_pointer",
       "kernel void threadgroup_pointer(" ARGS
       ") { threadgroup uint a[64], b[64]; a[i] = i; b[i] = 100 + i;"
       " threadgroup_barrier(mem_flags::mem_threadgroup);"
       " threadgroup uint* p = i & 1 ? a : b; out[i] = p[63 - i]; }",
       64, [](size_t i) { return (i & 1 ? 63.0 : 163.0) - double(i); }},
      {"private_pointer",
       "kernel void private_pointer(" ARGS
       ") { uint a[4] = {i, i + 1, i + 2, i + 3}, b[4] = {9, 8, 7, u[i]};"
       " thread uint* p = u[i] & 1 ? a : b; p[u[i] & 3] += 1000;"
       " out[i] = a[0] + a[1] + a[2] + a[3] + 2 * (b[0] + b[1] + b[2] + b[3]); }",
       64,
       [](size_t i) {
         return 4.0 * double(i) + 6 + 2 * (24.0 + uint_input(i)) +
                (uint_input(i) & 1 ? 1000 : 2000);
       }},
      {"private_pointers_in_memory",
       "kernel void private_pointers_in_memory(" ARGS
       ") { uint a = i, b = u[i], c = 3; thread uint* p[3] = {&a, &b, &c};"
       " for (uint k = 0; k < 9; ++k) *p[(k + u[i]) % 3] += k; *p[u[i] % 3] += 50;"
       " out[i] = a + 3 * b + 7 * c; }",
       64,
       [](size_t i) {
         uint32_t v[3] = {uint32_t(i), uint_input(i), 3};
         for (uint32_t k = 0; k < 9; ++k) v[(k + uint_input(i)) % 3] += k;
         v[uint_input(i) % 3] += 50;
         return double(v[0] + 3 * v[1] + 7 * v[2]);
       }},
      {"position",
       "kernel void position(device uint* out [[buffer(0)]], device uint* z [[buffer(3)]],"
       " uint2 p [[thread_position_in_grid]]) { out[p.x + 8 * p.y] = z[0] ? p.x : p.y; }",
       128, [](size_t i) { return double(i / 8); }, plane()},
      {"size",
       "kernel void size(device uint* out [[buffer(0)]], device uint* z [[buffer(3)]],"
       " uint2 p [[thread_position_in_grid]], uint2 n [[threads_per_grid]],"
       " uint2 l [[threads_per_threadgroup]], uint2 g [[threadgroups_per_grid]],"
       " uint2 d [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]])"
       " { bool c = z[0]; out[p.x + 8 * p.y] = (c ? n.x : n.y) + 100 * (c ? l.x : l.y)"
       " + 1000 * (c ? g.x : g.y) + 10000 * (c ? d.x : d.y) + 100000 * (c ? t.x : t.y); }",
       128,
       [](size_t i) {
         const double y = double(i / 8);
         return 16 + 400 + 4000 + 10000 * std::floor(y / 4) + 100000 * std::fmod(y, 4);
       },
       plane()},
      {"lane_function",
       "kernel void lane_function(" ARGS
       ") { uint r; if (z[i]) r = simd_sum(u[i]); else r = simd_max(u[i]); out[i] = r; }",
       64,
       [](size_t i) {
         uint32_t most = 0;
         for (size_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k)
           most = std::max(most, uint_input(k));
         return double(most);
       }},
      {"lane_function_by_lane",
       "kernel void lane_function_by_lane(" ARGS
       ") { uint r; if (i & 1) r = simd_sum(i % 32); else r = simd_max(i % 32); out[i] = r; }",
       64, [](size_t i) { return i & 1 ? 256.0 : 30.0; }},
  });
  return table;
}
MSL_KERNELS(Select, table);

// A number that is not known when the kernel is compiled is refused, not guessed.
TEST(SelectDiagnostics, ComputedNumberIsRefused) {
  const Library library =
      compile(kPrologue + std::string("kernel void k(device uint* out [[buffer(0)]]) "
                                      "{ out[0] = __msl_grid_size(out[1]); }\n"));
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  const std::string error =
      library.library ? run(library.library.get(), "k", Launch(), buffers) : library.error;
  EXPECT_NE(error.find("must be a constant"), std::string::npos) << error;
}

TEST(SelectDiagnostics, NumberOutOfRangeIsRefused) {
  const Library library =
      compile(kPrologue + std::string("kernel void k(device uint* out [[buffer(0)]]) "
                                      "{ out[0] = __msl_grid_size(3); }\n"));
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  const std::string error =
      library.library ? run(library.library.get(), "k", Launch(), buffers) : library.error;
  EXPECT_NE(error.find("number 3 is out of range, expected less than 3"), std::string::npos)
      << error;
}

}  // namespace
