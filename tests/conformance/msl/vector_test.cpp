// Vectors, packed vectors and matrices: layout, construction, swizzles, operators.
#include "tests/conformance/msl/expression_case.h"

namespace {

using namespace msl_test;

#define REAL(name, msl, ...)               \
  {name, msl, [](const In& in) -> double { \
     (void)in;                             \
     return double(__VA_ARGS__);           \
   }}
#define NEAR(name, msl, bound, ...) \
  {name, msl,                       \
   [](const In& in) -> double {     \
     (void)in;                      \
     return double(__VA_ARGS__);    \
   },                               \
   bound}
#define WHOLE(name, msl, ...)    \
  {name, msl,                    \
   [](const In& in) -> double {  \
     (void)in;                   \
     return double(__VA_ARGS__); \
   },                            \
   0, Type::kInt}
#define UWHOLE(name, msl, ...)   \
  {name, msl,                    \
   [](const In& in) -> double {  \
     (void)in;                   \
     return double(__VA_ARGS__); \
   },                            \
   0, Type::kUint}

const char* const kDeclarations = R"(
// Digits of four small numbers, to check several components at once.
int digits(int4 v) { return v.x + 10 * v.y + 100 * v.z + 1000 * v.w; }
int digits(int3 v) { return v.x + 10 * v.y + 100 * v.z; }
int digits(int2 v) { return v.x + 10 * v.y; }
int4 written_xz() { int4 v(1, 2, 3, 4); v.xz = int2(7, 8); return v; }
int4 written_wzyx() { int4 v(1, 2, 3, 4); v.wzyx = v; return v; }
int4 added_yz() { int4 v(1, 2, 3, 4); v.yz += int2(3, 4); return v; }
int4 scaled_xyz() { int4 v(1, 2, 3, 4); v.xyz *= 2; return v; }
int4 written_rgba() { int4 v(1, 2, 3, 4); v.rg = v.ab; v.b = 9; return v; }
int4 swapped() { int4 v(1, 2, 3, 4); v.xy = v.yx; return v; }
int4 component_ops() { int4 v(1, 2, 3, 4); v.x++; v.y += 2; v.z--; v.w = v.x; return v; }
int4 indexed(int n) { int4 v(1, 2, 3, 4); v[n & 3] = 9; return v; }
int3 from_swizzle_of_call() { return written_xz().zzx; }
struct Mixed { char c; float3 v; half h; packed_float3 p; short2 s; };
struct Nested { Mixed m[2]; bool b; };
constant float4 kTable[2] = {float4(1, 2, 3, 4), {5, 6, 7, 8}};
constexpr constant int2 kPair = int2(3, 4);
float3 packed_ops(float x) { packed_float3 p(1, 2, 3); p += x; p.x = 5; p[1] = p.z; float3 q = p; p = q * 2; return p; }
)";

ExpressionTable& vectors() {
  static ExpressionTable table(
      {
          WHOLE("sizes",
                "int(sizeof(float2) + 100 * sizeof(float3) + 10000 * sizeof(float4) + 1000000 * "
                "sizeof(half3))",
                8 + 1600 + 160000 + 8000000),
          WHOLE("small_sizes",
                "int(sizeof(char2) + 10 * sizeof(bool3) + 100 * sizeof(uchar4) + 1000 * "
                "sizeof(bfloat2))",
                4442),
          WHOLE("alignments",
                "int(alignof(float3) + 100 * alignof(half4) + 10000 * alignof(ulong2))",
                16 + 800 + 160000),
          WHOLE("packed_sizes",
                "int(sizeof(packed_float3) + 100 * sizeof(packed_half3) + 10000 * "
                "alignof(packed_float4))",
                12 + 600 + 40000),
          WHOLE("struct_layout", "int(sizeof(Mixed) + 1000 * sizeof(Nested))", 64 + 1000 * 144),
          WHOLE("construct_scalars", "digits(int4(1, 2, 3, 4))", 4321),
          WHOLE("construct_splat", "digits(int4(7))", 7777),
          WHOLE("construct_from_parts", "digits(int4(int2(1, 2), int2(3, 4)))", 4321),
          WHOLE("construct_scalar_vector", "digits(int4(1, int2(2, 3), 4))", 4321),
          WHOLE("construct_vector3", "digits(int4(int3(1, 2, 3), 4))", 4321),
          WHOLE("construct_scalar_vector3", "digits(int4(1, int3(2, 3, 4)))", 4321),
          WHOLE("construct_vec3", "digits(int3(1, int2(2, 3))) + digits(int3(int2(1, 2), 3))", 642),
          WHOLE("brace_list", "([] { int4 v = {1, 2, 3, 4}; return digits(v); }())", 4321),
          WHOLE("short_brace_list",
                "([] { int4 v = {1, 2, 3}; int3 w = {4, 5}; return digits(v) + 1000 * digits(w); "
                "}())",
                321 + 54000),
          WHOLE("zero_braces", "([] { int4 v = {}; return digits(v); }())", 0),
          WHOLE("implicit_splat", "([] { int4 v = 3; return digits(v); }())", 3333),
          WHOLE("convert_float_to_int", "digits(int4(float4(1.9f, 2.1f, 3.5f, 4.0f)))", 4321),
          WHOLE("convert_half_to_int", "digits(int3(half3(1, 2, 3)))", 321),
          REAL("convert_int_to_float", "float2(int2(i, j)).y", float(in.j)),
          REAL("convert_narrowing_braces", "half2{a, b}.y", rounded(in.b, Type::kHalf)),
          WHOLE("read_single", "int4(1, 2, 3, 4).w", 4),
          WHOLE("read_colour", "int4(1, 2, 3, 4).b", 3),
          WHOLE("read_two", "digits(int4(1, 2, 3, 4).yx)", 12),
          WHOLE("read_repeated", "digits(int2(1, 2).xxyy)", 2211),
          WHOLE("read_reversed", "digits(int4(1, 2, 3, 4).wzyx)", 1234),
          WHOLE("read_rgba", "digits(int4(1, 2, 3, 4).bgra)", 4123),
          WHOLE("swizzle_of_swizzle", "digits(int4(1, 2, 3, 4).wzyx.xy)", 34),
          WHOLE("swizzle_of_call", "digits(from_swizzle_of_call())", 788),
          WHOLE("write_swizzle", "digits(written_xz())", 4827),
          WHOLE("write_overlapping", "digits(written_wzyx())", 1234),
          WHOLE("add_to_swizzle", "digits(added_yz())", 4000 + 700 + 50 + 1),
          WHOLE("scale_swizzle", "digits(scaled_xyz())", 4000 + 600 + 40 + 2),
          WHOLE("write_colours", "digits(written_rgba())", 4000 + 900 + 30 + 4),
          WHOLE("swap_by_swizzle", "digits(swapped())", 4312),
          WHOLE("component_operators", "digits(component_ops())", 2000 + 200 + 40 + 2),
          WHOLE("index_read", "int4(1, 2, 3, 4)[i & 3]", (in.i & 3) + 1),
          WHOLE("index_write", "digits(indexed(i))",
                (in.i & 3) == 0   ? 4329
                : (in.i & 3) == 1 ? 4391
                : (in.i & 3) == 2 ? 4921
                                  : 9321),
          REAL("add", "(float2(a, b) + float2(b, c)).y", in.b + in.c),
          REAL("subtract_scalar", "(float2(a, b) - c).x", in.a - in.c),
          REAL("scalar_times", "(2 * float3(a, b, c)).z", 2 * in.c),
          NEAR("divide", "(float2(a, b) / float2(b, c)).y", 0.51, double(in.b) / in.c),
          REAL("negate", "(-float4(a, b, c, 1)).y", -in.b),
          REAL("compound",
               "([&] { float2 v(a, b); v += 1; v *= float2(2, 3); v -= c; return v.y; }())",
               (in.b + 1) * 3 - in.c),
          WHOLE("integer_divide_by_zero_goes_on", "(int2(i, j) / int2(0, 1)).y", in.j),
          WHOLE("integer_remainder", "(int2(i, j) % int2(7, 5)).y", in.j % 5),
          WHOLE("shift_masks", "(int2(i, j) << int2(33, 1)).x", int32_t(uint32_t(in.i) << 1)),
          WHOLE("bit_operators", "((int2(i, j) & int2(255)) | ~int2(255)).y", (in.j & 255) | ~255),
          WHOLE("xor", "(int2(i, j) ^ int2(j, i)).x", in.i ^ in.j),
          WHOLE("char_vector_wraps", "int((char2(100) + char2(100)).x)", -56),
          WHOLE("compare", "digits(int3(select(int3(0), int3(1), int3(1, 2, 3) >= int3(2))))", 110),
          WHOLE("not_of_comparison", "all(!(float2(a, b) > 1e9f))", 1),
          WHOLE("increment",
                "([] { int2 v(1, 2); int2 w = v++; ++v; return digits(v) * 100 + digits(w); }())",
                43 * 100 + 21),
          UWHOLE("as_type_vector", "as_type<uint>(uchar4(1, 2, 3, 4))", 0x04030201u),
          UWHOLE("as_type_half2", "as_type<uint>(half2(1.0h, -2.0h))", 0xc0003c00u),
          WHOLE("as_type_to_vector", "int(as_type<uchar4>(u).z)", in.u >> 16 & 255),
          REAL("constant_table", "kTable[i & 1].z", (in.i & 1) ? 7 : 3),
          WHOLE("constexpr_vector", "kPair.x * 10 + kPair.y", 34),
          REAL("vec_template_name", "vec<float, 3>(a, b, c).y", in.b),
          REAL("long_vector", "float((long2(long(i), long(j)) * 2l).y)", float(2 * int64_t(in.j))),
          REAL("packed_read", "packed_float3(a, b, c).z", in.c),
          REAL("packed_swizzle", "packed_float3(a, b, c).zyx.x", in.c),
          REAL("packed_arithmetic", "(packed_float3(a, b, c) * 2.0f + packed_float3(1, 1, 1)).y",
               in.b * 2 + 1),
          REAL("packed_with_vector", "(packed_float3(a, b, c) + float3(1, 2, 3)).z", in.c + 3),
          REAL("packed_assignments", "packed_ops(1.0f).x + packed_ops(1.0f).y * 100", 10 + 800),
          REAL("packed_in_vector", "float4(packed_float3(a, b, c), 1).y", in.b),
          WHOLE("packed_char4", "int(packed_char4(1, -2, 3, -4).w)", -4),
          REAL("bfloat_vector", "float(bfloat2(bfloat(1.5f), bfloat(2.5f)).y)", 2.5),
          REAL("ternary_of_vectors", "(i > 0 ? float2(a, b) : float2(c)).y",
               in.i > 0 ? in.b : in.c),
      },
      kDeclarations);
  return table;
}
MSL_EXPRESSIONS(Vector, vectors);

ExpressionTable& matrices() {
  static ExpressionTable table({
      WHOLE("sizes",
            "int(sizeof(float2x2) + 100 * sizeof(float3x3) + 10000 * sizeof(half4x4) + 1000000 * "
            "sizeof(half2x3))",
            16 + 4800 + 320000 + 16000000),
      REAL("columns_then_rows", "float2x3(float3(a, 1, 2), float3(b, 3, 4))[1][0]", in.b),
      REAL("all_components", "float2x2(a, b, c, 1)[1].x", in.c),
      REAL("diagonal", "float3x3(a)[1][1] + float3x3(a)[1][0]", in.a),
      REAL(
          "element_write",
          "([&] { float2x2 m(0.0f); m[1][0] = a; m[0] = float2(b, c); return m[1].x + m[0].y; }())",
          in.a + in.c),
      NEAR("times_vector", "(float2x2(1, 2, 3, 4) * float2(a, b)).y", 1e4, 2.0 * in.a + 4.0 * in.b),
      NEAR("vector_times", "(float2(a, b) * float2x2(1, 2, 3, 4)).x", 1e4, 1.0 * in.a + 2.0 * in.b),
      WHOLE("times_matrix", "int((float2x2(1, 2, 3, 4) * float2x2(5, 6, 7, 8))[1][0])", 31),
      WHOLE("rectangular_product",
            "int((float3x2(1, 2, 3, 4, 5, 6) * float2x3(1, 2, 3, 4, 5, 6))[1][1])",
            2 * 4 + 4 * 5 + 6 * 6),
      REAL("times_scalar", "(float2x2(a, b, c, 1) * 2.0f)[0].y", in.b * 2),
      REAL("scalar_times", "(2.0f * float2x2(a, b, c, 1))[1].x", in.c * 2),
      REAL("add_subtract", "(float2x2(a, b, c, 1) + float2x2(1.0f) - float2x2(2.0f))[0].y", in.b),
      REAL("transpose", "transpose(float2x3(1, 2, 3, a, b, c))[2][1]", in.c),
      WHOLE("determinant2", "int(determinant(float2x2(1, 2, 3, 4)))", -2),
      WHOLE("determinant3", "int(determinant(float3x3(2, 0, 1, 1, 3, 2, 1, 1, 4)))",
            2 * (3 * 4 - 1 * 2) - 1 * (0 * 4 - 1 * 1) + 1 * (0 * 2 - 3 * 1)),
      WHOLE("determinant4", "int(determinant(float4x4(2.0f)))", 16),
      REAL("half_from_float", "float(half2x2(float2x2(1.5f, 2, 3, 4))[0][0])", 1.5),
      WHOLE("equality",
            "(float2x2(1.0f) == float2x2(1, 0, 0, 1)) + 2 * int(float2x2(1.0f) != float2x2(2.0f))",
            3),
      REAL("columns_member", "float4x4(a).columns[2].z", in.a),
      WHOLE("matrix_template_name", "int(matrix<bfloat, 2, 4>(bfloat(3.0f))[1][1])", 3),
  });
  return table;
}
MSL_EXPRESSIONS(Matrix, matrices);

}  // namespace
