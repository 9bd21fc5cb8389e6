// A bool in memory is true if any of its bits is set, whatever wrote it.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

// The inputs are small numbers in words, so the first of four bytes holds the number.
double truth(size_t byte) {
  return byte % 4 == 0 && uint_input(byte / 4) != 0 ? 1 : 0;
}

KernelTable& table() {
  static KernelTable table({
      {"device_bool",
       "kernel void device_bool(device uint* out [[buffer(0)]], const device bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = b[i] ? 1 : 0; }",
       64, truth},
      {"converted",
       "kernel void converted(device uint* out [[buffer(0)]], const device bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = uint(b[i]) + 10 * "
       "int(b[i]) + 100 * uint(float(b[i])); }",
       64, [](size_t i) { return 111 * truth(i); }},
      {"compared",
       "kernel void compared(device uint* out [[buffer(0)]], const device bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = (b[i] == true) + 2 * "
       "(b[i] == b[4]) + 4 * (b[i] ^ true) + 8 * !b[i]; }",
       64, [](size_t i) { return truth(i) != 0 ? 1.0 + 2 : 4.0 + 8; }},
      {"constant_bool",
       "kernel void constant_bool(device uint* out [[buffer(0)]], constant bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = b[i]; }",
       64, truth},
      {"constant_reference",
       "kernel void constant_reference(device uint* out [[buffer(0)]], constant bool& b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = b ? i : 0; }",
       64, [](size_t i) { return double(i); }},
      {"copied",
       "kernel void copied(device uint* out [[buffer(0)]], const device bool* b [[buffer(2)]], "
       "uint i [[thread_position_in_grid]]) { device bool* to = (device bool*)(out + i); for (uint "
       "k = 0; k < 4; ++k) to[k] = static_cast<bool>(b[4 * i + k]); }",
       64, [](size_t i) { return double(uint_input(i)); }},
      {"copied_by_function",
       "template <class T, class U> T cast_to(U x) { return static_cast<T>(x); }\n"
       "kernel void copied_by_function(device uint* out [[buffer(0)]], const device bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { device bool* to = (device bool*)(out "
       "+ "
       "i); for (uint k = 0; k < 4; ++k) to[k] = cast_to<bool>(b[4 * i + k]); }",
       64, [](size_t i) { return double(uint_input(i)); }},
      {"tested",
       "kernel void tested(device uint* out [[buffer(0)]], const device uchar* b [[buffer(2)]], "
       "uint i [[thread_position_in_grid]]) { device bool* to = (device bool*)(out + i); for (uint "
       "k = 0; k < 4; ++k) to[k] = b[4 * i + k] != 0; }",
       64, [](size_t i) { return truth(4 * i); }},
      {"copied_by_variable",
       "struct Four { bool a[4]; };\n"
       "kernel void copied_by_variable(device Four* out [[buffer(0)]], const device Four* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { for (uint k = 0; k < 4; ++k) { bool "
       "v = b[i].a[k]; out[i].a[k] = v; } }",
       64, [](size_t i) { return double(uint_input(i)); }},
      {"to_number",
       "kernel void to_number(device uint* out [[buffer(0)]], const device bool* b [[buffer(2)]], "
       "uint i [[thread_position_in_grid]]) { uchar n = b[i]; device uchar* to = (device uchar*)"
       "(out + i); to[0] = n; to[1] = b[i]; to[2] = 0; to[3] = 0; }",
       64, [](size_t i) { return 257 * truth(i); }},
      {"member",
       "struct Flags { bool a, b; uchar c; bool d; };\n"
       "kernel void member(device uint* out [[buffer(0)]], const device Flags* f "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { Flags p = f[i]; out[i] = p.a + 2 "
       "* p.b + 4 * f[i].a + 8 * f[i].d; }",
       64, [](size_t i) { return 5 * truth(4 * i); }},
      {"vector",
       "kernel void vector(device uint* out [[buffer(0)]], const device bool4* b [[buffer(2)]], "
       "uint i [[thread_position_in_grid]]) { bool4 v = b[i]; out[i] = v.x + 2 * v.y + 4 * "
       "any(v) + 8 * all(v) + 16 * uint4(v).x + 32 * select(0u, 1u, v.x); }",
       64, [](size_t i) { return (1 + 4 + 16 + 32) * truth(4 * i); }},
      {"packed_vector",
       "kernel void packed_vector(device uint* out [[buffer(0)]], const device packed_bool2* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { out[i] = b[i].x + 2 * "
       "uint2(bool2(b[i])).x + 4 * b[i].y; }",
       64, [](size_t i) { return 3 * truth(2 * i); }},
      {"threadgroup_bool",
       "kernel void threadgroup_bool(device uint* out [[buffer(0)]], const device uint* u "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { threadgroup bool s[64]; "
       "((threadgroup uchar*)s)[i] = uchar(u[i]); "
       "threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[63 - i] + 1; }",
       64, [](size_t i) { return 1 + truth(4 * (63 - i)); }},
      {"private_bool",
       "kernel void private_bool(device uint* out [[buffer(0)]], const device uint* u "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { bool s[4]; for (uint k = 0; k < "
       "4; ++k) ((thread uchar*)s)[k] = uchar(u[i + k]); out[i] = s[u[i] & 3] + 2 * s[0]; }",
       64, [](size_t i) { return truth(4 * (i + (uint_input(i) & 3))) + 2 * truth(4 * i); }},
      {"arithmetic",
       "kernel void arithmetic(device uint* out [[buffer(0)]], const device bool* b "
       "[[buffer(2)]], uint i [[thread_position_in_grid]]) { uint n = 0; for (uint k = 0; k < "
       "64; ++k) n += b[k]; out[i] = n; }",
       64,
       [](size_t) {
         double n = 0;
         for (size_t k = 0; k < 64; ++k) n += truth(k);
         return n;
       }},
  });
  return table;
}
MSL_KERNELS(Bool, table);

}  // namespace
