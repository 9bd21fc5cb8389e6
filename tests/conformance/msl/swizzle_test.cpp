// Parts of vectors, and parts of those, read and written.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

// A kernel whose statements see and change float4 a = (1, 2, 3, 4).
#define BODY(name, text)                                              \
  "kernel void " name                                                 \
  "(device float* out [[buffer(0)]], device float4* b [[buffer(3)]])" \
  " { float4 a(1, 2, 3, 4); " text " out[0] = a.x; out[1] = a.y; out[2] = a.z; out[3] = a.w; }"

KernelCase swizzle(const char* name, const char* msl, std::vector<double> expected) {
  Launch launch;
  launch.grid = launch.group = MTL::Size(1, 1, 1);
  return {name, msl, 4, [expected](size_t i) { return expected[i]; }, launch, Type::kFloat};
}
#define CASE(name, text, ...) swizzle(#name, BODY(#name, text), {__VA_ARGS__})

KernelTable& table() {
  static KernelTable table({
      CASE(read_part_of_part, "a = float4(a.zw.y, a.xyz.zy, a.wzyx.xy.y);", 4, 3, 2, 3),
      CASE(component_of_part, "a.yz.y = 5;", 1, 2, 5, 4),
      CASE(part_of_part, "a.xyz.zy = float2(8, 9);", 1, 9, 8, 4),
      CASE(part_of_part_of_part, "a.wzyx.zyx.xy = float2(8, 9);", 1, 8, 9, 4),
      CASE(reversed_part, "a.xy.yx = a.zw;", 4, 3, 3, 4),
      CASE(same_part_on_both_sides, "a.xy.yx = a.xy;", 2, 1, 3, 4),
      CASE(colours, "a.rgb.g = 7; a.bgra.r = 6;", 1, 7, 6, 4),
      CASE(add_to_part, "a.yz.yx += float2(10, 20);", 1, 22, 13, 4),
      CASE(scale_component, "a.yz.x *= 3; a.zw.y++; --a.zw.x;", 1, 6, 2, 5),
      CASE(scale_part, "a.xyz *= 2; a.zw /= 2;", 2, 4, 3, 2),
      CASE(chained, "a.xy = a.zw = float2(7, 8);", 7, 8, 7, 8),
      CASE(in_memory, "b[0] = a; b[0].yz.y = 5; b->xy.yx = float2(6, 7); a = b[0];", 7, 6, 5, 4),
      CASE(in_array, "float4 c[2] = {a, a}; c[1].yzw.zx = float2(5, 6); a = c[1];", 1, 6, 3, 5),
      CASE(of_matrix, "float2x4 m(a, a); m[1].yz.y = 9; a = m[1];", 1, 2, 9, 4),
      CASE(of_call, "a = float4((a + a).xyz.zy, max(a, 2.0f).xw.yx);", 6, 4, 4, 2),
      CASE(packed_part, "packed_float4 p(a); p.yz.y = 5; p.xy = float2(8, 9); a = p;", 8, 9, 5, 4),
      CASE(packed_read, "packed_float3 p(a.xyz); a = float4(p.zyx, p.xy.y);", 3, 2, 1, 2),
      CASE(packed_memory,
           "device packed_float3* p = (device packed_float3*)b; p[1] = a.xyz; p[1].xyz.zx = "
           "float2(8, 9); p[1].y += 5; a = float4(p[1], 0);",
           9, 7, 8, 0),
      CASE(packed_arithmetic, "packed_float2 p(a.xy), q(a.zw); p.xy += q.yx; a.xy = p * q;", 15, 20,
           3, 4),
      CASE(integers,
           "uint4 u(1, 2, 3, 4); u.wz.x <<= 2; u.xyz.yz.x |= 8; short3 s(1, 2, 3); s.zy.yx = "
           "short2(7, 8); a = float4(u.w, u.y, s.y, s.z);",
           16, 10, 7, 8),
      CASE(variable_named_like_a_part, "float2 xy = a.xy; a.xy.y = 7; a.x = xy.y;", 2, 7, 3, 4),
  });
  return table;
}
MSL_KERNELS(Swizzle, table);

// Members of the user's own that are named like swizzles.
KernelTable& own_table() {
  static KernelTable table(
      {CASE(own_member,
            "Own o; o.xy.x = 5; o.xy.y = 6; o.rgb.yz.x = 7; a.xyz = "
            "float3(o.xy, o.rgb.y); a.zw.y = 8;",
            5, 6, 7, 8),
       CASE(own_nested, "Outer o; o.own.xy.yx = a.xy; a.xy = o.own.xy;", 2, 1, 3, 4)},
      "struct Base {};\nstruct Own : Base { float2 xy; float3 rgb; };\n"
      "template <class T, class U> struct Pair { T xyz; };\n"
      "struct Outer { Own own; };\n");
  return table;
}
MSL_KERNELS(OwnMember, own_table);

// A part that is no variable cannot be assigned to; it must not be ignored either.
TEST(SwizzleDiagnostics, AssignmentToACopyIsRefused) {
  for (const char* text :
       {"a.xx.x = 1;", "a.xx.xy = 1;", "(a + a).xy = 1;", "a.yyz.xz = float2(1);"}) {
    const Library library =
        compile(kPrologue +
                std::string("kernel void k(device float4* b [[buffer(0)]]) { float4 a "
                            "= b[0]; ") +
                text + " b[0] = a; }\n");
    EXPECT_FALSE(library.library) << text << " compiled";
    EXPECT_NE(library.error.find("program_source:3:"), std::string::npos) << library.error;
  }
}

}  // namespace
