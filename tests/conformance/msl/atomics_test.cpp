// metal_atomic in device and threadgroup memory, under many threads.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                                    \
  "device uint* out [[buffer(0)]], const device uint* u [[buffer(2)]], uint i " \
  "[[thread_position_in_grid]]"
#define RELAXED "memory_order_relaxed"
const Launch kMany = {.grid = MTL::Size(1000, 1, 1), .group = MTL::Size(64, 1, 1)};
constexpr size_t kThreads = 1000;

// A kernel whose 1000 threads apply one operation to word 0 of buffer 3.
#define FETCH(name, T, operation, value)                                                \
  "kernel void " name "(device atomic<" T                                               \
  ">* a [[buffer(3)]], const device uint* u [[buffer(2)]], "                            \
  "uint i [[thread_position_in_grid]]) { atomic_fetch_" operation "_explicit(a, " value \
  ", " RELAXED "); }"

template <class F>
double folded(double start, F f) {
  for (size_t i = 0; i < kThreads; ++i) start = f(start, i);
  return start;
}

KernelCase on_scratch(const char* name, const char* msl, double expected, Type type = Type::kUint,
                      double ulp = 0) {
  KernelCase c{name, msl, 1, [expected](size_t) { return expected; }, kMany, type, ulp};
  c.result_buffer = 3;
  return c;
}

KernelTable& table() {
  static KernelTable table({
      on_scratch("add_uint", FETCH("add_uint", "uint", "add", "u[i]"),
                 folded(0, [](double s, size_t i) { return s + uint_input(i); })),
      on_scratch("add_int", FETCH("add_int", "int", "add", "int(i) - 600"),
                 folded(0, [](double s, size_t i) { return s + double(i) - 600; }), Type::kInt),
      on_scratch("sub_int", FETCH("sub_int", "int", "sub", "int(u[i])"),
                 -folded(0, [](double s, size_t i) { return s + uint_input(i); }), Type::kInt),
      on_scratch("max_uint", FETCH("max_uint", "uint", "max", "i * 7 % 1001"),
                 folded(0, [](double s, size_t i) { return std::max(s, double(i * 7 % 1001)); })),
      on_scratch("min_int", FETCH("min_int", "int", "min", "int(i) - 500"), -500, Type::kInt),
      on_scratch("max_int_of_negatives", FETCH("max_int_of_negatives", "int", "max", "-1 - int(i)"),
                 0, Type::kInt),
      on_scratch("or_uint", FETCH("or_uint", "uint", "or", "1u << (i % 20)"), 0xfffff),
      on_scratch("and_uint", FETCH("and_uint", "uint", "and", "~(1u << (i % 20))"), 0),
      on_scratch("xor_uint", FETCH("xor_uint", "uint", "xor", "u[i]"),
                 folded(0, [](double s, size_t i) { return double(uint32_t(s) ^ uint_input(i)); })),
      on_scratch("add_float", FETCH("add_float", "float", "add", "float(u[i])"),
                 folded(0, [](double s, size_t i) { return s + uint_input(i); }), Type::kFloat),
      on_scratch("sub_float", FETCH("sub_float", "float", "sub", "1.0f"), -1000, Type::kFloat),
      on_scratch("or_bool",
                 "kernel void or_bool(device atomic_bool* a [[buffer(3)]], uint i "
                 "[[thread_position_in_grid]]) { atomic_fetch_or_explicit(a, i == 500, " RELAXED
                 "); }",
                 1),
      on_scratch("typedef_names",
                 "kernel void typedef_names(device atomic_uint* a [[buffer(3)]]) { "
                 "atomic_fetch_add_explicit(a, 2, " RELAXED "); }",
                 2000),
      on_scratch("volatile_pointer",
                 "kernel void volatile_pointer(volatile device atomic_uint* a [[buffer(3)]]) { "
                 "atomic_fetch_add_explicit(a, 3u, " RELAXED "); }",
                 3000),
      on_scratch(
          "ulong_max",
          "kernel void ulong_max(device atomic_ulong* a [[buffer(3)]], uint i "
          "[[thread_position_in_grid]]) { atomic_max_explicit(a, ulong(i) << 40 | i, " RELAXED
          "); }",
          999),
      on_scratch("ulong_min",
                 "kernel void ulong_min(device atomic_ulong* a [[buffer(3)]], uint i "
                 "[[thread_position_in_grid]]) { atomic_max_explicit(a, 5ul, " RELAXED
                 "); atomic_min_explicit(a, ulong(i) + 5, " RELAXED "); }",
                 5),
      on_scratch("compare_exchange_loop",
                 "kernel void compare_exchange_loop(device atomic_uint* a [[buffer(3)]], uint i "
                 "[[thread_position_in_grid]]) { uint old = atomic_load_explicit(a, " RELAXED
                 "); while (!atomic_compare_exchange_weak_explicit(a, &old, old + 1, " RELAXED
                 ", " RELAXED ")) {} }",
                 1000),
      on_scratch(
          "float_max_by_compare_exchange",
          "kernel void float_max_by_compare_exchange(device atomic_float* a [[buffer(3)]], const "
          "device float* f [[buffer(1)]], uint i [[thread_position_in_grid]])"
          " { float old = atomic_load_explicit(a, " RELAXED
          "); while (f[i] > old && !atomic_compare_exchange_weak_explicit(a, &old, f[i], " RELAXED
          ", " RELAXED ")) {} }",
          50, Type::kFloat),
      on_scratch("store_and_fence",
                 "kernel void store_and_fence(device atomic_uint* a [[buffer(3)]]) { "
                 "atomic_store_explicit(a, 6u, " RELAXED
                 "); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, "
                 "thread_scope_device); }",
                 6),
      {"histogram",
       "kernel void histogram(device atomic_uint* a [[buffer(3)]], const device uint* u "
       "[[buffer(2)]], uint i [[thread_position_in_grid]])"
       " { atomic_fetch_add_explicit(&a[u[i] % 16], 1u, " RELAXED "); }",
       16,
       [](size_t bin) {
         return folded(0, [=](double s, size_t i) { return s + (uint_input(i) % 16 == bin); });
       },
       kMany, Type::kUint, 0, nullptr, 3},
      {"threadgroup_histogram",
       "kernel void threadgroup_histogram(device uint* out [[buffer(0)]], const device uint* u "
       "[[buffer(2)]], uint l [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]])"
       " { threadgroup atomic_uint bins[8]; if (l < 8) atomic_store_explicit(&bins[l], 0u, " RELAXED
       "); threadgroup_barrier(mem_flags::mem_threadgroup);"
       " atomic_fetch_add_explicit(&bins[u[i] % 8], 1u, " RELAXED
       "); threadgroup_barrier(mem_flags::mem_threadgroup);"
       " if (l < 8) out[i / 100 * 8 + l] = atomic_load_explicit(&bins[l], " RELAXED "); }",
       24,
       [](size_t n) {
         double count = 0;
         for (size_t i = n / 8 * 100; i < n / 8 * 100 + 100; ++i)
           count += uint_input(i) % 8 == n % 8;
         return count;
       },
       {.grid = MTL::Size(300, 1, 1), .group = MTL::Size(100, 1, 1)}},
      {"old_values_are_distinct",
       "kernel void old_values_are_distinct(device uint* out [[buffer(0)]], device atomic_uint* a "
       "[[buffer(3)]]) { uint old = atomic_fetch_add_explicit(a, 1u, " RELAXED
       "); out[old] = old; }",
       1000, [](size_t i) { return double(i); }, kMany},
      {"threadgroup_float_add",
       "kernel void threadgroup_float_add(device float* out [[buffer(0)]], uint l "
       "[[thread_index_in_threadgroup]])"
       " { threadgroup atomic_float s; if (l == 0) atomic_store_explicit(&s, 0.0f, " RELAXED
       "); threadgroup_barrier(mem_flags::mem_threadgroup);"
       " atomic_fetch_add_explicit(&s, float(l), " RELAXED
       "); threadgroup_barrier(mem_flags::mem_threadgroup); if (l == 0) out[0] = "
       "atomic_load_explicit(&s, " RELAXED "); }",
       1,
       [](size_t) { return 2016; },
       {},
       Type::kFloat},
      {"exchange_returns_old_value",
       "kernel void exchange_returns_old_value(device uint* out [[buffer(0)]], device atomic_uint* "
       "a [[buffer(3)]])"
       " { out[0] = atomic_exchange_explicit(a, 5u, " RELAXED
       "); out[1] = atomic_exchange_explicit(a, 6u, " RELAXED
       "); out[2] = atomic_load_explicit(a, " RELAXED "); }",
       3,
       [](size_t i) { return double(std::vector<int>{0, 5, 6}[i]); },
       {.grid = MTL::Size(1, 1, 1), .group = MTL::Size(1, 1, 1)}},
      {"failed_compare_exchange_reports_value",
       "kernel void failed_compare_exchange_reports_value(device uint* out [[buffer(0)]], device "
       "atomic_uint* a [[buffer(3)]]) { uint expected = 9;"
       " out[0] = atomic_compare_exchange_weak_explicit(a, &expected, 1u, " RELAXED ", " RELAXED
       "); out[1] = expected; }",
       2,
       [](size_t) { return 0; },
       {.grid = MTL::Size(1, 1, 1), .group = MTL::Size(1, 1, 1)}},
      {"struct_of_atomics",
       "struct Stats { atomic_uint count; atomic_int low; };\n"
       "kernel void struct_of_atomics(device Stats& s [[buffer(3)]], uint i "
       "[[thread_position_in_grid]]) { atomic_fetch_add_explicit(&s.count, 1u, " RELAXED
       "); atomic_fetch_min_explicit(&s.low, -int(i), " RELAXED "); }",
       2, [](size_t i) { return i == 0 ? 1000 : -999; }, kMany, Type::kInt, 0, nullptr, 3},
  });
  return table;
}
MSL_KERNELS(Atomics, table);

}  // namespace
