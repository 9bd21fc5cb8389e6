// The language around kernels: templates, host names, constants, structs, pointers, control flow.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                              \
  "device uint* out [[buffer(0)]], const device float* f [[buffer(1)]], " \
  "const device uint* u [[buffer(2)]], uint i [[thread_position_in_grid]]"

double in(size_t i) {
  return uint_input(i);
}

// What branching_template computes.
uint32_t branched(int n, uint32_t x) {
  if (n < 2) return (x ^ (x >> 15)) * 0x2c1b3c6du + uint32_t(n);
  return branched(n - 1, x * 3 + 1) ^ branched(n - 2, x + uint32_t(n));
}

KernelTable& table() {
  static KernelTable table(
      {
          {"plain", "kernel void plain(" ARGS ") { out[i] = u[i] + 1; }", 64,
           [](size_t i) { return in(i) + 1; }},
          {"attribute_form", "[[kernel]] void attribute_form(" ARGS ") { out[i] = u[i] + 2; }", 64,
           [](size_t i) { return in(i) + 2; }},
          {"implicit_indices",
           "kernel void implicit_indices(device uint* out, const device float* f, const device "
           "uint* u,"
           " uint i [[thread_position_in_grid]]) { out[i] = u[i] + uint(f[i] > 0); }",
           64, [](size_t i) { return in(i) + (float_input(i) > 0); }},
          {"arguments_out_of_order",
           "kernel void arguments_out_of_order(uint i [[thread_position_in_grid]], const device "
           "uint* u [[buffer(2)]],"
           " device uint* out [[buffer(0)]]) { out[i] = u[i] * 2; }",
           64, [](size_t i) { return in(i) * 2; }},
          {"template_uint",
           "template <typename T, int N> kernel void scaled(device T* out [[buffer(0)]], const "
           "device uint* u [[buffer(2)]],"
           " uint i [[thread_position_in_grid]]) { out[i] = T(u[i]) * N; }\n"
           "template [[host_name(\"template_uint\")]] kernel void scaled<uint, 3>(device uint*, "
           "const device uint*, uint);",
           64, [](size_t i) { return in(i) * 3; }},
          {"template_float",
           "template [[host_name(\"template_float\")]] kernel void scaled<float, 4>(device float*, "
           "const device uint*, uint);",
           64,
           [](size_t i) { return in(i) * 4; },
           {},
           Type::kFloat},
          {"decltype_form",
           "typedef decltype(scaled<uint, 5>) scaled_t;\n"
           "template [[host_name(\"decltype_form\")]] kernel scaled_t scaled<uint, 5>;",
           64, [](size_t i) { return in(i) * 5; }},
          {"decltype_direct",
           "template [[host_name(\"decltype_direct\")]] [[kernel]] decltype(scaled<uint, 6>) "
           "scaled<uint, 6>;",
           64, [](size_t i) { return in(i) * 6; }},
          {"host_name_by_macro",
           "#define MAKE(name, n) template [[host_name(\"host_name_by_\" #name)]] kernel void "
           "scaled<uint, n>(device uint*, const device uint*, uint);\n"
           "MAKE(macro, 7)",
           64, [](size_t i) { return in(i) * 7; }},
          {"renamed",
           "[[host_name(\"renamed\")]] kernel void original_name(" ARGS ") { out[i] = u[i] + 9; }",
           64, [](size_t i) { return in(i) + 9; }},
          {"constant_reference",
           "struct Params { uint scale; uint add; };\n"
           "kernel void constant_reference(device uint* out [[buffer(0)]], constant Params& p "
           "[[buffer(2)]],"
           " uint i [[thread_position_in_grid]]) { out[i] = i * p.scale + p.add; }",
           64, [](size_t i) { return double(i) * in(0) + in(1); }},
          {"constant_pointer",
           "kernel void constant_pointer(device uint* out [[buffer(0)]], constant uint* u "
           "[[buffer(2)]],"
           " uint i [[thread_position_in_grid]]) { out[i] = u[63 - i]; }",
           64, [](size_t i) { return in(63 - i); }},
          {"constant_scalar",
           "kernel void constant_scalar(device uint* out [[buffer(0)]], constant uint& n "
           "[[buffer(2)]],"
           " uint i [[thread_position_in_grid]]) { out[i] = n + i; }",
           64, [](size_t i) { return in(0) + double(i); }},
          {"struct_layout",
           "struct Row { float3 v; half h; char c; packed_float3 p; uint2 w; };\n"
           "kernel void struct_layout(device uint* out [[buffer(0)]], const device Row* rows "
           "[[buffer(1)]],"
           " uint i [[thread_position_in_grid]]) {\n"
           "  const device char* base = (const device char*)rows;\n"
           "  out[i] = i == 0 ? sizeof(Row) : i == 1 ? uint((const device char*)&rows[0].h - base)"
           " : i == 2 ? uint((const device char*)&rows[0].p - base) : i == 3 ? uint((const device "
           "char*)&rows[1].w - base) : 0; }",
           4,
           [](size_t i) { return double(std::vector<int>{48, 16, 20, 80}[i]); },
           {.grid = MTL::Size(4, 1, 1)}},
          {"nested_struct_copy",
           "struct Inner { uint x[3]; float2 f; }; struct Outer { Inner a, b; uint tail; };\n"
           "Outer build(uint n) { Outer o; for (uint k = 0; k < 3; ++k) { o.a.x[k] = n + k; "
           "o.b.x[k] = n * k; } o.a.f = float2(1); o.b.f = float2(2); o.tail = 5; return o; }\n"
           "kernel void nested_struct_copy(" ARGS
           ") { Outer o = build(u[i]); Outer p = o; p.b = p.a; out[i] = p.b.x[2] + p.tail + "
           "uint(p.b.f.y); }",
           64, [](size_t i) { return in(i) + 2 + 5 + 1; }},
          {"member_functions",
           "struct Counter { uint n; Counter(uint n) thread : n(n) {} void add(uint k) thread { n "
           "+= k; } uint get() const thread { return n; }"
           " static uint twice(uint x) { return 2 * x; } uint operator()(uint x) const { return n "
           "+ x; } };\n"
           "kernel void member_functions(" ARGS
           ") { Counter c(u[i]); c.add(3); out[i] = Counter::twice(c.get()) + c(1); }",
           64, [](size_t i) { return (in(i) + 3) * 3 + 1; }},
          {"operator_overloads",
           "struct Complex { float re, im; Complex operator*(Complex o) const { return {re * o.re "
           "- im * o.im, re * o.im + im * o.re}; } };\n"
           "kernel void operator_overloads(" ARGS
           ") { Complex z = {float(u[i]), 1}; z = z * z; out[i] = uint(z.re + 1); }",
           64, [](size_t i) { return in(i)*in(i); }},
          {"inheritance",
           "struct Base { uint a; uint value() const { return a; } }; struct Derived : Base { uint "
           "b; };\n"
           "kernel void inheritance(" ARGS
           ") { Derived d; d.a = u[i]; d.b = 2; out[i] = d.value() * d.b; }",
           64, [](size_t i) { return in(i) * 2; }},
          {"enums",
           "enum Kind { kOne = 1, kTwo }; enum class Mode : uchar { off, on = 7 };\n"
           "kernel void enums(" ARGS ") { Mode m = Mode::on; out[i] = kTwo + uint(m) + u[i]; }",
           64, [](size_t i) { return in(i) + 9; }},
          {"union_bits",
           "union Bits { uint word; uchar bytes[4]; };\n"
           "kernel void union_bits(" ARGS
           ") { Bits b; b.word = 0x04030201u * (u[i] & 1); out[i] = b.bytes[2]; }",
           64, [](size_t i) { return (uint_input(i) & 1) * 3.0; }},
          {"constant_array",
           "constant uint kSquares[8] = {0, 1, 4, 9, 16, 25, 36, 49};\n"
           "kernel void constant_array(" ARGS ") { out[i] = kSquares[u[i] & 7]; }",
           64, [](size_t i) { return double((uint_input(i) & 7) * (uint_input(i) & 7)); }},
          {"constant_struct_array",
           "struct Pair { uint a; float b; }; constant Pair kPairs[] = {{1, 0.5f}, {2, 1.5f}};\n"
           "kernel void constant_struct_array(" ARGS
           ") { constant Pair& p = kPairs[u[i] & 1]; out[i] = p.a * 10 + uint(p.b * 2); }",
           64, [](size_t i) { return (uint_input(i) & 1) ? 23 : 11; }},
          {"static_constexpr",
           "static constant constexpr uint kStep = 3; constexpr uint cube(uint x) { return x * x * "
           "x; }\n"
           "kernel void static_constexpr(" ARGS
           ") { constexpr uint n = cube(kStep); out[i] = u[i] + n; }",
           64, [](size_t i) { return in(i) + 27; }},
          {"constant_passed_down",
           "uint total(constant uint* table, uint n) { uint s = 0; for (uint k = 0; k < n; ++k) s "
           "+= table[k]; return s; }\n"
           "kernel void constant_passed_down(" ARGS ") { out[i] = total(kSquares, 4) + i; }",
           64, [](size_t i) { return 14.0 + double(i); }},
          {"address_space_overloads",
           "uint which(const device uint* p) { return p[0]; } uint which(const thread uint* p) { "
           "return p[0]; }\n"
           "uint which(const threadgroup uint* p) { return p[0]; }\n"
           "kernel void address_space_overloads(" ARGS
           ") { uint x = 3; out[i] = which(u + i) + which(&x); }",
           64, [](size_t i) { return in(i) + 3; }},
          {"address_space_template",
           "template <typename P> uint load(P p) { return p[0]; }\n"
           "kernel void address_space_template(" ARGS
           ") { threadgroup uint s[64]; s[i % 64] = 4; thread uint t = 5; out[i] = load(u + i) + "
           "load(s + i % 64) + load(&t); }",
           64, [](size_t i) { return in(i) + 9; }},
          {"references",
           "void bump(thread uint& x, device uint& y) { x += 1; y = x; }\n"
           "kernel void references(" ARGS ") { uint x = u[i]; bump(x, out[i]); out[i] += x; }",
           64, [](size_t i) { return 2 * (in(i) + 1); }},
          {"pointer_arithmetic",
           "kernel void pointer_arithmetic(" ARGS
           ") { const device uint* p = u + 10; p += i; --p; out[i] = *p + p[1] + uint(p - u); }",
           64, [](size_t i) { return in(9 + i) + in(10 + i) + 9.0 + double(i); }},
          {"pointer_reinterpretation",
           "kernel void pointer_reinterpretation(" ARGS
           ") { const device ushort* s = (const device ushort*)u; const device uchar4* c ="
           " reinterpret_cast<const device uchar4*>(u); out[i] = s[2 * i] + c[i].x; }",
           64, [](size_t i) { return 2 * in(i); }},
          {"private_array",
           "kernel void private_array(" ARGS
           ") { uint a[16]; for (uint k = 0; k < 16; ++k) a[k] = k * k; out[i] = a[u[i] & 15]; }",
           64,
           [](size_t i) {
             const uint32_t k = uint_input(i) & 15;
             return double(k * k);
           }},
          // Accesses of one thread that may be to the same place stay in order.
          {"strided_loads_around_a_store",
           "kernel void strided_loads_around_a_store(" ARGS
           ", device uint* zeros [[buffer(3)]]) { device uint* own = zeros + i * 4; uint before = "
           "own[0] + own[2]; own[u[i] & 3] = 77; uint after = own[1] + own[3]; out[i] = before * "
           "1000 + after; }",
           64, [](size_t i) { return uint_input(i) % 2 == 1 ? 77.0 : 0.0; }},
          {"strided_stores_around_a_store",
           "kernel void strided_stores_around_a_store(" ARGS
           ") { device uint* own = out + i * 4; own[0] = 1; own[1] = 2; own[u[i] & 3] = 77; own[2] "
           "= 3; own[3] = 4; }",
           256,
           [](size_t i) {
             const bool last = i % 4 < 2 && uint_input(i / 4) % 4 == i % 4;
             return last ? 77.0 : double(i % 4 + 1);
           }},
          {"array_2d",
           "kernel void array_2d(" ARGS ") { uint a[4][4]; for (uint k = 0; k < 16; ++k) a[k / "
           "4][k % 4] = k; out[i] = a[i % 4][i / 4 % 4]; }",
           64, [](size_t i) { return double(i % 4 * 4 + i / 4 % 4); }},
          {"metal_array",
           "kernel void metal_array(" ARGS
           ") { array<uint, 4> a = {1, 2, 3, 4}; uint s = 0; for (uint x : a) s += x; a.fill(2);"
           " out[i] = s * 100 + a[3] * 10 + a.size(); array<float, 2> z{}; out[i] += uint(z[1]); }",
           64, [](size_t) { return 1024; }},
          {"loops",
           "kernel void loops(" ARGS ") { uint s = 0; for (uint k = 0; k < u[i]; ++k) { if (k % 3 "
           "== 0) continue; if (k > 100) break; s += k; }"
           " uint n = 5; while (n) { s += n; n--; } do { s += 1; } while (false); out[i] = s; }",
           64,
           [](size_t i) {
             double s = 16;
             for (uint32_t k = 0; k < uint_input(i) && k <= 100; ++k) s += k % 3 ? k : 0;
             return s;
           }},
          {"switch_statement",
           "kernel void switch_statement(" ARGS
           ") { uint r; switch (u[i] % 5) { case 0: r = 10; break; case 1: case 2: r = 20; break;"
           " case 3: r = 1; default: r = 30; } out[i] = r; }",
           64,
           [](size_t i) {
             const uint32_t k = uint_input(i) % 5;
             return k == 0 ? 10 : k < 3 ? 20 : 30;
           }},
          {"unrolled_loops",
           "kernel void unrolled_loops(" ARGS
           ") { uint s = 0;\n#pragma unroll\n for (uint k = 0; k < 8; ++k) s += u[i + k];\n"
           "#pragma clang loop unroll(full)\n for (uint k = 0; k < 4; ++k) s += k;\n#pragma "
           "unroll(2)\n for (uint k = 0; k < 6; ++k) s += 1;\n out[i] = s; }",
           64,
           [](size_t i) {
             double s = 12;
             for (size_t k = 0; k < 8; ++k) s += in(i + k);
             return s;
           }},
          {"early_return",
           "kernel void early_return(" ARGS ") { out[i] = 1; if (u[i] & 1) return; out[i] = 2; }",
           64, [](size_t i) { return uint_input(i) & 1 ? 1 : 2; }},
          {"lambdas",
           "template <typename F> uint apply(F f, uint x) { return f(x) + f(x + 1); }\n"
           "kernel void lambdas(" ARGS
           ") { uint k = 3; auto g = [=](uint x) { return x * k; }; out[i] = apply(g, u[i]); }",
           64, [](size_t i) { return 3 * (2 * in(i) + 1); }},
          {"constexpr_if",
           "template <typename T> uint kind(T) { if constexpr (is_floating_point_v<T>) return 1; "
           "else if constexpr (sizeof(T) == 8) return 2; else return 3; }\n"
           "kernel void constexpr_if(" ARGS
           ") { out[i] = kind(half(1)) * 100 + kind(1ul) * 10 + kind(uint(1)); }",
           64, [](size_t) { return 123; }},
          {"variadic_template",
           "template <typename... A> uint sum_of(A... a) { return (0u + ... + uint(a)); }\n"
           "kernel void variadic_template(" ARGS ") { out[i] = sum_of(1, 2.0f, 3h, u[i]); }",
           64, [](size_t i) { return in(i) + 6; }},
          {"template_specialisation",
           "template <typename T> struct Width { static constant constexpr uint value = 1; }; "
           "template <> struct Width<float4> { static constant constexpr uint value = 4; };\n"
           "template <typename T, int N> struct Width<vec<T, N>> { static constant constexpr uint "
           "value = N; };\n"
           "kernel void template_specialisation(" ARGS
           ") { out[i] = Width<float>::value + 10 * Width<float4>::value + 100 * "
           "Width<half3>::value; }",
           64, [](size_t) { return 341; }},
          {"type_traits",
           "kernel void type_traits(" ARGS ") { out[i] = is_same_v<conditional_t<true, int, "
           "float>, int> + 2 * is_integral<ushort>::value"
           " + 4 * is_signed_v<char> + 8 * is_convertible_v<half, float> + 16 * "
           "is_same<remove_cv_t<const uint>, uint>::value"
           " + 32 * is_floating_point_v<bfloat> + 64 * is_unsigned_v<int>; }",
           64, [](size_t) { return 63; }},
          {"namespaces",
           "namespace mine { namespace inner { uint f(uint x) { return x + 1; } } using namespace "
           "inner; }\n"
           "kernel void namespaces(" ARGS ") { out[i] = mine::f(u[i]) + metal::max(1u, 2u); }",
           64, [](size_t i) { return in(i) + 3; }},
          {"anonymous_function_style",
           "static inline uint helper(uint x) { return x * 3; }\nkernel void "
           "anonymous_function_style(" ARGS ") { out[i] = helper(u[i]); }",
           64, [](size_t i) { return in(i) * 3; }},
          {"user_overload_of_library_name",
           "uint max(uint a, uint b, uint c) { return metal::max(a, metal::max(b, c)); }\n"
           "kernel void user_overload_of_library_name(" ARGS
           ") { out[i] = max(u[i], 100u, 50u) + max(1u, 2u); }",
           64, [](size_t i) { return std::max(in(i), 100.0) + 2; }},
          {"macros_of_the_language",
           "kernel void macros_of_the_language(" ARGS
           ") {\n#if defined(__METAL_VERSION__) && __METAL_VERSION__ >= 300\n out[i] = 1;\n#endif\n"
           "#ifdef __HAVE_BFLOAT__\n out[i] += 2;\n#endif\n#ifdef __METAL__\n out[i] += "
           "4;\n#endif\n }",
           64, [](size_t) { return 7; }},
          {"given_macro", "kernel void given_macro(" ARGS ") { out[i] = GIVEN; }", 64,
           [](size_t) { return 42; }},
          {"branching_template",  // thousands of calls, none of which folds
           "template <int N> uint branched(uint x) {\n"
           "  if constexpr (N < 2) return (x ^ (x >> 15)) * 0x2c1b3c6du + N;\n"
           "  else return branched<N - 1>(x * 3 + 1) ^ branched<N - 2>(x + N); }\n"
           "kernel void branching_template(" ARGS ") { out[i] = branched<20>(u[i]); }",
           64, [](size_t i) { return branched(20, uint_input(i)); }},
          {"branching_template_between_lanes",
           "kernel void branching_template_between_lanes(" ARGS ") {\n"
           "  uint x = i % 3 == 0 ? branched<18>(i) : i;\n"
           "  x = simd_xor(x); if (i & 1) x += branched<17>(x); out[i] = x; }",
           64,
           [](size_t i) {
             uint32_t x = 0;
             for (uint32_t k = uint32_t(i) & ~31u, n = 0; n < 32; ++n)
               x ^= (k + n) % 3 == 0 ? branched(18, k + n) : k + n;
             return double(i & 1 ? uint32_t(x + branched(17, x)) : x);
           }},
          {"includes",
           "#include <metal_math>\n#include <metal_simdgroup>\n#include <metal_atomic>\nkernel "
           "void includes(" ARGS ") { out[i] = 5; }",
           64, [](size_t) { return 5; }},
          {"uniform_values",
           "kernel void uniform_values(" ARGS
           ") { uniform<uint> n = make_uniform(7u); out[i] = u[i] + n; }",
           64, [](size_t i) { return in(i) + 7; }},
          {"long_arguments",
           "kernel void long_arguments(device uint* out [[buffer(0)]], constant ulong& n "
           "[[buffer(2)]], uint i [[thread_position_in_grid]])"
           " { out[i] = uint(n >> 32) + uint(n); }",
           64, [](size_t) { return in(0) + in(1); }},
          {"write_bytes_and_shorts",
           "kernel void write_bytes_and_shorts(device uchar* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { out[i] = uchar(i); }",
           16,
           [](size_t i) {
             const uint32_t b = uint32_t(i) * 4;
             return double(b | (b + 1) << 8 | (b + 2) << 16 | (b + 3) << 24);
           }},
          {"write_halves",
           "kernel void write_halves(device half2* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { out[i] = half2(1.0h, half(i)); }",
           4,
           [](size_t i) {
             return double(0x3c00u | std::vector<uint32_t>{0, 0x3c00, 0x4000, 0x4200}[i] << 16);
           },
           {.grid = MTL::Size(4, 1, 1)}},
          {"write_float3",
           "kernel void write_float3(device float3* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { out[i] = float3(i, i + 1, i + 2); }",
           64,
           [](size_t i) { return i % 4 == 3 ? kAny : double(i / 4 + i % 4); },
           {.grid = MTL::Size(16, 1, 1)},
           Type::kFloat},
          {"write_packed_float3",
           "kernel void write_packed_float3(device packed_float3* out [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) { out[i] = float3(i, i + 1, i + 2); }",
           48,
           [](size_t i) { return double(i / 3 + i % 3); },
           {.grid = MTL::Size(16, 1, 1)},
           Type::kFloat},
      },
      "", Options{.fast_math = false, .macros = {{"GIVEN", "42"}}});
  return table;
}
MSL_KERNELS(Language, table);

}  // namespace
