// What C++ allows and MSL does not, and limits of a kernel.
#include "tests/conformance/msl/failure_case.h"

namespace {

using namespace msl_test;

const FailureCase kCases[] = {
    {"mutable_global", "int counter = 0;\n" HEAD "  out[i] = counter;\n}\n", "3:5",
     "variable at program scope 'counter' must be in the constant address space"},
    {"mutable_static_global", "static float scale;\n" HEAD "  out[i] = scale;\n}\n", "3:14",
     "'scale' must be in the constant address space"},
    {"mutable_global_in_namespace", "namespace n { int c; }\n" HEAD "  out[i] = n::c;\n}\n", "3:19",
     "'c' must be"},
    {"mutable_static_member", "struct S { static int c; };\n" HEAD "  out[i] = 1;\n}\n", "3:23",
     "'c' must be"},
    {"mutable_pointer_global", "constant float* p;\n" HEAD "  out[i] = 1;\n}\n", "3:17", "'p'"},
    {"static_local", HEAD "  static int calls = 0; out[i] = ++calls;\n}\n", "4:14",
     "static variable 'calls' must be in the constant address space"},
    {"static_local_in_template",
     "template <typename T> T f() { static T x; return x; }\n" HEAD "  out[i] = f<int>();\n}\n",
     "3:40", "static variable 'x'"},
    {"thread_local_variable", "thread_local int x;\n" HEAD "  out[i] = x;\n}\n", "3:1",
     "'thread_local' is not allowed in MSL"},
    {"double_variable", HEAD "  double x = 1; out[i] = x;\n}\n", "4:3",
     "'double' is not allowed in MSL"},
    {"long_double", HEAD "  long double x = 1; out[i] = x;\n}\n", "4:8", "'double'"},
    {"double_parameter", "float f(double x) { return x; }\n" HEAD "  out[i] = f(1);\n}\n", "3:9",
     "'double'"},
    {"double_in_unused_template", "template <typename T> double f(T x) { return x; }\n" HEAD "}\n",
     "3:23", "'double'"},
    {"jump", HEAD "  again: out[i] = 1; if (i) goto again;\n}\n", "4:29",
     "'goto' is not allowed in MSL"},
    {"virtual_function", "struct S { virtual int f() { return 1; } };\n" HEAD "}\n", "3:12",
     "'virtual' is not allowed in MSL"},
    {"heap", HEAD "  thread int* x = new int; out[i] = *x;\n}\n", "4:19", "no heap"},
    {"heap_release", "void f(thread int* x) { delete x; }\n" HEAD "}\n", "3:25", "no heap"},
    {"catch_exceptions", HEAD "  try { out[i] = 1; } catch (int) {}\n}\n", "4:3", "exceptions"},
    {"type_information", HEAD "  out[i] = &typeid(float) != nullptr;\n}\n", "4:13", "'typeid'"},
    {"dynamic_cast_of_pointer",
     "struct A {}; struct B : A {};\n" HEAD
     "  A a; out[i] = dynamic_cast<thread B*>(&a) != nullptr;\n}\n",
     "5:17", "'dynamic_cast'"},
    {"kernel_calls_kernel",
     "kernel void first(device float* x [[buffer(0)]]) { *x = 1; }\n" HEAD "  first(out);\n}\n",
     "5:3", "kernel 'first' cannot be called"},
    {"function_calls_kernel",
     "kernel void first(device float* x [[buffer(0)]]) { *x = 1; }\n"
     "void f(device float* x) { first(x); }\n",
     "4:27", "kernel 'first' cannot be called"},
    {"kernel_template_called",
     "template <typename T> [[kernel]] void first(device T* x [[buffer(0)]]) { *x = 1; }\n" HEAD
     "  first<float>(out);\n}\n",
     "5:3", "kernel 'first' cannot be called"},
    {"recursion", "int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n" HEAD "}\n", "3:35",
     "recursive functions are not allowed: 'f'"},
    {"recursion_before_the_end",
     "void f(thread int& a, int b) { if (b) { f(a, b - 1); a += b; } }\n" HEAD "}\n", "3:41",
     "recursive functions are not allowed: 'f'"},
    {"recursion_by_way_of_another",
     "int g(int n);\nint f(int n) { return n ? g(n - 1) : 0; }\n"
     "int g(int n) { return f(n); }\n" HEAD "}\n",
     "5:23", "'f' leads back to itself"},
    {"recursion_in_template",
     "template <typename T> T f(T n) { return n ? 1 + f(n - 1) : n; }\n" HEAD
     "  out[i] = f(3);\n}\n",
     "3:49", "recursive functions are not allowed: 'f'"},
    {"recursion_of_members",
     "struct S { int f(int n) { return n ? 1 + f(n - 1) : 0; } };\n" HEAD "}\n", "3:42",
     "'f' leads back to itself"},
};
MSL_FAILURES(Restrictions, kCases);

// What only looks like one of the above.
TEST(RestrictionsAllow, LegalCode) {
  const Library library = compile(
      kPrologue +
      std::string(
          "constant int table[] = {1, 2};\n"
          "static constant float scale = 2;\n"
          "constexpr constant int two = 2;\n"
          "struct S { S() = default; S(int) = delete; static constexpr int n = 4; };\n"
          "template <int N> int f() { if constexpr (N > 0) return f<N - 1>() + 1; else "
          "return 0; }\n"
          "int g(int x) { return x; }\n"
          "int g(float x) { return g(int(x)); }\n"
          "int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }\n"
          "struct Steps {\n"
          "  int n = 0;\n"
          "  void next(int k) thread { ++n; if (k > 1) { k /= 2; if (k > 0) { next(k); } } }\n"
          "};\n"
          "kernel void k(device float* out [[buffer(0)]]) {\n"
          "  Steps steps; steps.next(9); out[1] = gcd(steps.n, 12);\n"
          "  static constant int local[] = {3};\n"
          "  static constexpr int other = 1;\n"
          "  out[0] = table[1] + scale + two + S::n + f<20>() + g(1.5f) + local[0] + "
          "other;\n}\n"));
  EXPECT_TRUE(library.library) << library.error;
}

// What creating the pipeline of kernel k says.
std::string pipeline_error(const std::string& source) {
  const Library library = compile(kPrologue + source);
  if (!library.library) return library.error;
  NS::Error* error = nullptr;
  auto name = NS::String::string("k", NS::UTF8StringEncoding);
  auto function = NS::TransferPtr(library.library->newFunction(name));
  auto pipeline = NS::TransferPtr(device()->newComputePipelineState(function.get(), &error));
  return pipeline ? "" : error->localizedDescription()->utf8String();
}

TEST(RestrictionsAllow, ThreadgroupMemoryUpTo32Kibibytes) {
  auto kernel = [](int floats) {
    return "kernel void k(device float* out [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) "
           "{\n  threadgroup float x[" +
           std::to_string(floats) +
           "];\n  x[i] = i;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
           "  out[i] = x[63 - i];\n}\n";
  };
  EXPECT_EQ(pipeline_error(kernel(8192)), "");
  const std::string error = pipeline_error(kernel(10000));
  EXPECT_NE(error.find("40000"), std::string::npos) << error;
  EXPECT_NE(error.find("32768"), std::string::npos) << error;
}

}  // namespace
