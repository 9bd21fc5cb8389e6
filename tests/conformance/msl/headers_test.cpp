// What headers beside metal_stdlib bring.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

constexpr const char* kSimd =
    "#include <simd/simd.h>\n#include <metal_assert>\n#include <metal_math>\n";

KernelTable& table() {
  static KernelTable table(
      {
          {"assert_is_compiled_away",
           "kernel void assert_is_compiled_away(device uint* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { assert(i < 3); assert((i > 1, false)); assert(false && "
           "\"never\"); if (i == 99) assert(false); else assert(true); out[i] = i; }",
           64, [](size_t i) { return double(i); }},
          {"simd_vectors",
           "kernel void simd_vectors(device uint* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { simd_float3 a(1, 2, 3); vector_float4 b(a, 4); "
           "simd_int2 "
           "c(5, 6); vector_uint2 d(7, 8); simd_uchar4 e(9); simd::float2 f = b.zw; simd_half4 "
           "g(1.5h); simd_short3 h(1); simd_float1 s = 2; simd_ulong2 l(3); out[i] = uint(b.w + "
           "c.y + d.x + e.z + f.x + g.x * 2 + h.z + s + l.y); }",
           64, [](size_t) { return 4.0 + 6 + 7 + 9 + 3 + 3 + 1 + 2 + 3; }},
          {"simd_matrices",
           "kernel void simd_matrices(device uint* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { matrix_float4x4 m(2); simd_float4x4 n(3); "
           "simd::float3x3 "
           "k(4); matrix_half2x2 h(1); simd_float2x4 w(1); out[i] = uint((m * n)[2][2] + k[1][1] + "
           "h[0][0] + w[1][1]); }",
           64, [](size_t) { return 6.0 + 4 + 1 + 1; }},
          {"simd_layout",
           "struct Shared { simd_float3 a; vector_uint2 b; simd_packed_float3 c; matrix_float4x4 "
           "d; };\nkernel void simd_layout(device uint* out [[buffer(0)]]) { out[0] = "
           "sizeof(Shared); out[1] = sizeof(simd_float3); out[2] = sizeof(simd_packed_float3); "
           "out[3] = alignof(matrix_float4x4); }",
           4, [](size_t i) { return std::vector<double>{112, 16, 12, 16}[i]; }},
          {"simd_argument",
           "struct Uniforms { simd_uint4 first; };\nkernel void simd_argument(device uint* out "
           "[[buffer(0)]], constant Uniforms& u [[buffer(2)]], uint i [[thread_position_in_grid]]) "
           "{ out[i] = u.first[i % 4]; }",
           64, [](size_t i) { return double(uint_input(i % 4)); }},
      },
      kSimd);
  return table;
}
MSL_KERNELS(Headers, table);

}  // namespace
