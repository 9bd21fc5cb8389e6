// Messages of the compiler, and what is said when a kernel is looked up.
#include "tests/conformance/msl/failure_case.h"

namespace {

using namespace msl_test;

const FailureCase kCases[] = {
    {"unknown_name", HEAD "  out[i] = missing;\n}\n", "4:12", "undeclared identifier 'missing'"},
    {"unknown_function", HEAD "  out[i] = frobnicate(1.0f);\n}\n", "4:12",
     "undeclared identifier 'frobnicate'"},
    {"missing_semicolon", HEAD "  out[i] = 1.0f\n}\n", "4:16", "expected ';'"},
    {"unbalanced_brace", HEAD "  out[i] = 1.0f;\n", "", "expected '}'"},
    {"wrong_argument_count", HEAD "  out[i] = atan2(1.0f);\n}\n", "4:12", "no matching function"},
    {"wrong_argument_type", "struct S { int x; };\n" HEAD "  S s; out[i] = exp(s);\n}\n", "5:17",
     "no matching function"},
    {"vector_of_other_length", HEAD "  float3 a(1); float2 b = a; out[i] = b.x;\n}\n", "4:23",
     "float2"},
    {"vector_of_other_type", HEAD "  int4 a(1); float4 b = a; out[i] = b.x;\n}\n", "4:21",
     "float4"},
    {"swizzle_out_of_range", HEAD "  float2 a(1); out[i] = a.z;\n}\n", "4:27",
     "no member named 'z'"},
    {"write_to_repeated_swizzle", HEAD "  float4 a(1); a.xx = float2(2); out[i] = a.x;\n}\n",
     "4:18", "'xx'"},
    {"remainder_of_floats", HEAD "  float4 a(1); float4 b = a % a; out[i] = b.x;\n}\n", "4:29",
     "invalid operands"},
    {"assign_to_constant", "kernel void k(constant float& c [[buffer(0)]]) {\n  c = 1.0f;\n}\n",
     "4:5", "const"},
    {"assign_to_const_pointer",
     "kernel void k(const device float* c [[buffer(0)]]) {\n  c[0] = 1.0f;\n}\n", "4:8",
     "not assignable"},
    {"unknown_type", "kernel void k(device flaot* out [[buffer(0)]]) {}\n", "3:22",
     "unknown type name 'flaot'"},
    {"in_template",
     "template <typename T> T twice(T x) { return x.nothing; }\n" HEAD
     "  out[i] = twice(1.0f);\n}\n",
     "3:46", "not a structure"},
    {"in_macro", "#define BAD(x) (x + missing)\n" HEAD "  out[i] = BAD(1.0f);\n}\n", "5:12",
     "missing"},
    {"static_assert_failure",
     "static_assert(sizeof(float3) == 12, \"three floats\");\nkernel void k(device float* o "
     "[[buffer(0)]]) {}\n",
     "3:15", "three floats"},
    {"error_directive",
     "#error no such platform\nkernel void k(device float* o [[buffer(0)]]) {}\n", "3:2",
     "no such platform"},
    {"missing_include",
     "#include \"not_there.h\"\nkernel void k(device float* o [[buffer(0)]]) {}\n", "3:10",
     "not_there.h"},
    {"duplicate_buffer_index",
     "kernel void k(device float* a [[buffer(1)]], device float* b [[buffer(1)]]) {}\n",
     "3:", "buffer"},
    {"buffer_index_too_large", "kernel void k(device float* a [[buffer(31)]]) {}\n", "3:", "31"},
    {"kernel_must_return_void", "kernel int k(device float* a [[buffer(0)]]) { return 1; }\n",
     "3:", "void"},
    {"pointer_without_address_space", "kernel void k(float* a [[buffer(0)]]) {}\n",
     "3:", "address space"},
    {"unknown_attribute", "kernel void k(device float* a [[bufer(0)]]) {}\n", "3:", "bufer"},
    {"wrong_attribute_type",
     "kernel void k(device float* a [[buffer(0)]], float i [[thread_position_in_grid]]) { a[0] = "
     "i; }\n",
     "3:", "thread_position_in_grid"},
    {"redefinition",
     "float f() { return 1; }\nfloat f() { return 2; }\nkernel void k(device float* a "
     "[[buffer(0)]]) { a[0] = f(); }\n",
     "4:7", "redefinition of 'f'"},
    {"simdgroup_matrix_of_other_size",
     HEAD "  simdgroup_matrix<float, 4, 4> m; out[i] = m.thread_elements()[0];\n}\n", "", "8"},
    {"as_type_of_other_size", HEAD "  out[i] = as_type<half>(out[i]);\n}\n", "4:12", "as_type"},
    {"integer_function_of_float", HEAD "  out[i] = popcount(1.5f);\n}\n", "4:12", "popcount"},
    {"no_exceptions", HEAD "  throw 1;\n}\n", "4:3", "exceptions"},
};

MSL_FAILURES(Diagnostics, kCases);

// The first error decides: later ones follow from it and must come after it in the text.
TEST(DiagnosticsOrder, FirstErrorComesFirst) {
  const Library library =
      compile(kPrologue + std::string(HEAD "  out[i] = first;\n  out[i] = second;\n}\n"));
  ASSERT_FALSE(library.library);
  const size_t first = library.error.find("'first'"), second = library.error.find("'second'");
  ASSERT_NE(first, std::string::npos) << library.error;
  ASSERT_NE(second, std::string::npos) << library.error;
  EXPECT_LT(first, second);
}

TEST(DiagnosticsRuntime, MissingEntryPointIsNamed) {
  const Library library = compile(kPrologue + std::string(HEAD "  out[i] = 1.0f;\n}\n"));
  ASSERT_TRUE(library.library) << library.error;
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  const std::string error = run(library.library.get(), "absent", Launch(), buffers);
  EXPECT_NE(error.find("absent"), std::string::npos) << error;
}

TEST(DiagnosticsRuntime, MissingFunctionConstantIsNamed) {
  const Library library =
      compile(kPrologue +
              std::string("constant uint kNeeded [[function_constant(3)]];\n"
                          "constant uint kOther [[function_constant(4)]];\n"
                          "kernel void other(device uint* out [[buffer(0)]]) { out[0] = kOther; }\n"
                          "kernel void k(device uint* out [[buffer(0)]]) { out[0] = kNeeded; }\n"));
  ASSERT_TRUE(library.library) << library.error;
  std::vector<std::vector<uint32_t>> buffers(1, std::vector<uint32_t>(64));
  Launch launch;
  launch.constants = {{"kOther", MTL::DataTypeUInt, 1}};
  const std::string error = run(library.library.get(), "k", launch, buffers);
  EXPECT_NE(error.find("kNeeded"), std::string::npos) << error;
}

}  // namespace
