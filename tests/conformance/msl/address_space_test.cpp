// Address spaces: overloads that differ in nothing else, and conversions between them.
#include "tests/conformance/msl/failure_case.h"
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                             \
  "device uint* out [[buffer(0)]], const device uint* u [[buffer(2)]], " \
  "constant uint* c [[buffer(1)]], uint i [[thread_position_in_grid]], " \
  "uint l [[thread_index_in_threadgroup]]"

const char* const kDeclarations = R"(
uint where(const device uint* p) { return 1 + (p[0] & 0); }
uint where(const threadgroup uint* p) { return 2 + (p[0] & 0); }
uint where(constant uint* p) { return 3 + (p[0] & 0); }
uint where(const thread uint* local) { return 4 + (local[0] & 0); }

template <typename T> T tagged(device const T* p, int k) { return T(10) + T(k); }
template <typename T> T tagged(threadgroup const T* shared, int k) { return T(20) + T(k); }
// One text, two meanings.
template <typename T> T twice(device const T* p) { return tagged(p, 1) * 2; }
template <typename T> T twice(threadgroup const T* p) { return tagged(p, 1) * 2; }

struct Box {
  uint x;
  uint place() const device { return 100 + x; }
  uint place() const threadgroup { return 200 + x; }
  uint place() const thread { return 300 + x; }
  uint again() const device { return place() + 1; }
  uint again() const threadgroup { return place() + 1; }
  uint again() const thread { return place() + 1; }
};

struct Reader {
  uint kind;
  Reader(device const uint* p) : kind(7 + (p[0] & 0)) {}
  Reader(threadgroup const uint* p) : kind(8 + (p[0] & 0)) {}
};
struct Holder {
  Reader reader;
  Holder(threadgroup const uint* p) : reader(p) {}
};

uint first(device uint& x) { return x + 1; }
uint first(thread uint& x) { return x + 2; }

uint declared(device const uint* p);
uint declared(threadgroup const uint* p);
uint before(threadgroup const uint* p) { return declared(p); }
uint declared(device const uint* p) { return 5; }
uint declared(threadgroup const uint* p) { return 6; }

device const uint* next(device const uint* p) { return p + 1; }
threadgroup const uint* next(threadgroup const uint* p) { return p + 2; }
)";

#define SHARED "threadgroup uint s[64]; s[l] = u[l]; "

KernelTable& table() {
  static KernelTable table(
      {
          {"free_functions",
           "kernel void free_functions(" ARGS ") { " SHARED
           "uint t[1] = {i}; out[i] = where(u) + 10 * where(s) + 100 * where(c) + 1000 * "
           "where(t); }",
           64, [](size_t) { return 4321; }},
          {"pointer_arithmetic_and_casts",
           "kernel void pointer_arithmetic_and_casts(" ARGS ") { " SHARED
           "auto p = s + 1; const device uint* q = (const device uint*)(u + 2);"
           " out[i] = where(p++) + 10 * where(&q[1]) + 100 * where(&s[2]); }",
           64, [](size_t) { return 212; }},
          {"templates",
           "kernel void templates(" ARGS ") { " SHARED
           "out[i] = tagged(u, 1) + 100 * tagged<uint>(s, 2); }",
           64, [](size_t) { return 2211; }},
          {"same_text_of_other_meaning",
           "kernel void same_text_of_other_meaning(" ARGS ") { " SHARED
           "out[i] = twice(u) + 100 * twice(s); }",
           64, [](size_t) { return 22 + 4200; }},
          {"members",
           "kernel void members(" ARGS ") { threadgroup Box b; b.x = 1; Box t; t.x = 2;"
           " device Box* d = (device Box*)out; d[i].x = 3;"
           " out[i] = d[i].place() + 1000 * b.place() + 1000000 * t.place(); }",
           64, [](size_t) { return 103 + 201000 + 302000000; }},
          {"members_that_call_members",
           "kernel void members_that_call_members(" ARGS ") { threadgroup Box b; b.x = 1; Box t; "
           "t.x = 2; out[i] = b.again() + 1000 * t.again(); }",
           64, [](size_t) { return 202 + 303000; }},
          {"constructors",
           "kernel void constructors(" ARGS ") { " SHARED
           "Reader a(u); Reader b(s); Reader d{s}; out[i] = a.kind + 10 * b.kind + 100 * "
           "Reader(s).kind + 1000 * Holder(s).reader.kind + 10000 * d.kind; }",
           64, [](size_t) { return 7 + 80 + 800 + 8000 + 80000; }},
          {"references",
           "kernel void references(" ARGS
           ") { uint x = 10; out[i] = 20; uint r = first(x) + 100 * first(out[i]); out[i] = r; }",
           64, [](size_t) { return 12 + 2100; }},
          {"prototypes",
           "kernel void prototypes(" ARGS ") { " SHARED "out[i] = before(s) + 10 * declared(u); }",
           64, [](size_t) { return 56; }},
          {"results",
           "kernel void results(" ARGS ") { for (uint k = 0; k < 1; ++k) {} " SHARED
           "threadgroup_barrier(mem_flags::mem_threadgroup);"
           " out[i] = where(next(s)) + 10 * where(next(u)) + 100 * (*next(s) - s[2]) + 1000 * "
           "(*next(u) - u[1]); }",
           64, [](size_t) { return 12; }},
      },
      kDeclarations);
  return table;
}
MSL_KERNELS(AddressSpaceOverloads, table);

#define TILE "  threadgroup float tile[4]; "

const FailureCase kCases[] = {
    {"initialised_by_other_array", HEAD TILE "device float* p = tile; out[i] = *p;\n}\n", "4:48",
     "pointer to 'threadgroup' memory where one to 'device' memory is expected"},
    {"initialised_by_own_variable", HEAD "  float x = 1; device float* p = &x; out[i] = *p;\n}\n",
     "4:34", "pointer to 'thread' memory where one to 'device' memory is expected"},
    {"default_is_thread", HEAD "  float* p = out; p[i] = 1;\n}\n", "4:14",
     "pointer to 'device' memory where one to 'thread' memory is expected"},
    {"assignment", HEAD TILE "device float* p = out; p = tile; *p = 1;\n}\n", "4:57",
     "'threadgroup' memory"},
    {"second_declarator", HEAD TILE "device float *p = out, *q = tile; *p = *q;\n}\n", "4:58",
     "'threadgroup' memory"},
    {"argument",
     "float f(device const float* x) { return *x; }\n" HEAD TILE "out[i] = f(tile);\n}\n", "5:41",
     "'threadgroup' memory where one to 'device'"},
    {"argument_of_thread_parameter",
     "float f(const float* x) { return *x; }\n" HEAD "  out[i] = f(out);\n}\n", "5:14",
     "'device' memory where one to 'thread'"},
    {"argument_by_reference", "void f(thread float& x) { x = 1; }\n" HEAD "  f(out[i]);\n}\n",
     "5:5", "object in 'device' memory where one in 'thread' memory is expected"},
    {"argument_of_template",
     "template <typename T> T f(threadgroup T* x) { return *x; }\n" HEAD
     "  out[i] = f(out + 1);\n}\n",
     "5:18", "'device' memory where one to 'threadgroup'"},
    {"result", "device float* f(threadgroup float* x) { return x + 1; }\n" HEAD "}\n", "3:50",
     "'threadgroup' memory"},
    {"cast", HEAD TILE "device float* p = (device float*)tile; *p = 1;\n}\n", "4:63",
     "'threadgroup' memory"},
    {"reinterpreting_cast",
     HEAD "  threadgroup int* p = reinterpret_cast<threadgroup int*>(out); *p = 1;\n}\n", "4:59",
     "'device' memory where one to 'threadgroup'"},
    {"static_casting", HEAD TILE "out[i] = *static_cast<device float*>(tile);\n}\n", "4:67",
     "'threadgroup' memory where one to 'device'"},
    {"choice", HEAD TILE "out[i] = *(i > 1 ? out : tile);\n}\n", "4:55",
     "'threadgroup' memory where one to 'device'"},
    {"by_auto", HEAD TILE "auto q = tile + 1; device float* p = q; *p = 1;\n}\n", "4:67",
     "'threadgroup' memory"},
    {"by_alias", "using P = device float*;\n" HEAD TILE "P p = tile; *p = 1;\n}\n", "5:36",
     "'threadgroup' memory"},
    {"by_typedef", "typedef threadgroup float* P;\n" HEAD "  P p = out; *p = 1;\n}\n", "5:9",
     "'device' memory"},
    {"member", "struct S { device float* p; };\n" HEAD TILE "S s; s.p = tile; *s.p = 1;\n}\n",
     "5:41", "'threadgroup' memory"},
    {"member_of_list",
     "struct S { int n; device float* p; };\n" HEAD TILE "S s = {1, tile}; *s.p = 1;\n}\n", "5:40",
     "'threadgroup' memory"},
    {"member_initialiser",
     "struct S { device float* p; S(threadgroup float* q) : p(q) {} };\n" HEAD "}\n", "3:57",
     "'threadgroup' memory"},
    {"from_member",
     "struct S { device float* p; };\n" HEAD
     "  S s = {out}; threadgroup float* q = s.p; *q = 1;\n}\n",
     "5:39", "'device' memory"},
    {"constructor_argument",
     "struct S { float x; S(device const float* p) : x(*p) {} };\n" HEAD TILE
     "S s(tile); out[i] = s.x;\n}\n",
     "5:34", "'threadgroup' memory"},
    {"constant_table",
     "constant float table[] = {1, 2};\n" HEAD "  const device float* p = table; out[i] = *p;\n}\n",
     "5:27", "'constant' memory where one to 'device'"},
    {"no_overload_fits",
     "float f(device const float* x) { return 1; }\nfloat f(threadgroup const float* x) { return "
     "2; "
     "}\n" HEAD "  float x = 1; out[i] = f(&x);\n}\n",
     "6:25", "no overload of 'f'"},
};
MSL_FAILURES(AddressSpaceErrors, kCases);

// Conversions that are none, and spaces that only a template argument knows.
TEST(AddressSpaces, LegalCode) {
  const Library library = compile(
      kPrologue +
      std::string(
          "constant float table[4] = {1, 2, 3, 4};\n"
          "typedef device float Cell;\n"
          "template <typename P> float any(P p) { P q = p + 1; auto r = q; return *r; }\n"
          "template <typename T> float either(const device T* p) { return p[0]; }\n"
          "template <typename T> float either(const threadgroup T* p) { return p[0]; }\n"
          "float by_value(const thread float& x) { return x; }\n"
          "float sum(constant float* p) { return p[0]; }\n"
          "void swap_(thread float*& a, thread float*& b) { thread float* t = a; a = b; b = t; }\n"
          "float rows(const device float (*p)[4]) { return p[1][2]; }\n"
          "struct S { device float* p; float at(int i) const thread { return p[i]; } };\n"
          "kernel void k(device float* out [[buffer(0)]], threadgroup float* dynamic "
          "[[threadgroup(0)]], uint i [[thread_position_in_grid]]) {\n"
          "  threadgroup float tile[4];\n"
          "  float own[4] = {1, 2, 3, 4};\n"
          "  float *a = own, *b = own + 1;\n"
          "  swap_(a, b);\n"
          "  Cell* cell = out;\n"
          "  device float* p = i > 1 ? out : nullptr;\n"
          "  threadgroup float* q = dynamic + 4;\n"
          "  const device float* r = (const device float*)(device uint*)out;\n"
          "  device float* list[2] = {out, out + 1};\n"
          "  threadgroup float* t = q ? tile : q;\n"
          "  S s = {out};\n"
          "  constant float* c = table;\n"
          "  device float* z = static_cast<device float*>(out + 1);\n"
          "  thread float& x = own[1];\n"
          "  device float& y = out[3];\n"
          "  out[i] = any(out) + any(tile) + any(own) + either(out) + either(tile) + "
          "by_value(out[i]) + sum(table) + sum(c) + *a + *b + *cell + *r + *list[1] + *t + "
          "s.at(0) + x + y + rows((const device float(*)[4])out) + (p ? *p : 0) + *z;\n}\n"));
  EXPECT_TRUE(library.library) << library.error;
}

}  // namespace
