// Simdgroup and quadgroup functions: full, partial and divergent simdgroups, all element types.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

#define ARGS                                                                                   \
  "device uint* out [[buffer(0)]], const device float* f [[buffer(1)]], const device uint* u " \
  "[[buffer(2)]], "                                                                            \
  "uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]"
#define KERNEL(name, body) "kernel void " name "(" ARGS ") { " body " }"
#define FLOATS(name, body)                                                  \
  "kernel void " name                                                       \
  "(device float* out [[buffer(0)]], const device float* f [[buffer(1)]], " \
  "uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) { " body " }"

// Two simdgroups, the second of 18 lanes.
constexpr size_t kThreads = 50;
const Launch kPartial = {.grid = MTL::Size(kThreads, 1, 1), .group = MTL::Size(kThreads, 1, 1)};
using Active = bool (*)(size_t);
bool everyone(size_t) {
  return true;
}
bool odd(size_t i) {
  return i % 2;
}

size_t first_of(size_t i) {
  return i / 32 * 32;
}
size_t end_of(size_t i) {
  return std::min(first_of(i) + 32, kThreads);
}
bool exists(size_t lane_from, size_t i) {
  return lane_from >= first_of(i) && lane_from < end_of(i);
}
double uin(size_t i) {
  return uint_input(i);
}
double fin(size_t i) {
  return float_input(i);
}

// f over the active threads of i's simdgroup.
template <class F>
double over(size_t i, double start, F f, Active active = everyone) {
  for (size_t k = first_of(i); k < end_of(i); ++k)
    if (active(k)) start = f(start, k);
  return start;
}
double sum_u(size_t i) {
  return over(i, 0, [](double s, size_t k) { return s + uin(k); });
}
double sum_f(size_t i) {
  return over(i, 0, [](double s, size_t k) { return s + fin(k); });
}
double max_f(size_t i) {
  return over(i, -1e9, [](double s, size_t k) { return std::max(s, fin(k)); });
}
double min_f(size_t i) {
  return over(i, 1e9, [](double s, size_t k) { return std::min(s, fin(k)); });
}
double sign_of(size_t k) {
  return k % 3 ? 1 : -1;
}

KernelTable& reductions() {
  static KernelTable table({
      {"sum_float", FLOATS("sum_float", "out[i] = simd_sum(f[i]);"), kThreads, sum_f, kPartial,
       Type::kFloat},
      {"sum_uint", KERNEL("sum_uint", "out[i] = simd_sum(u[i]);"), kThreads, sum_u, kPartial},
      {"sum_int", KERNEL("sum_int", "out[i] = uint(simd_sum(int(f[i])));"), kThreads, sum_f,
       kPartial, Type::kInt},
      {"sum_half", FLOATS("sum_half", "out[i] = float(simd_sum(half(f[i])));"), kThreads, sum_f,
       kPartial, Type::kFloat},
      {"sum_bfloat", FLOATS("sum_bfloat", "out[i] = float(simd_sum(bfloat(1.0f)));"), kThreads,
       [](size_t i) { return i < 32 ? 32 : 18; }, kPartial, Type::kFloat},
      {"sum_ushort", KERNEL("sum_ushort", "out[i] = simd_sum(ushort(u[i]));"), kThreads, sum_u,
       kPartial},
      {"sum_char_wraps", KERNEL("sum_char_wraps", "out[i] = uint(int(simd_sum(char(100))));"),
       kThreads, [](size_t i) { return double(int8_t(100 * (i < 32 ? 32 : 18))); }, kPartial,
       Type::kInt},
      {"sum_ulong", KERNEL("sum_ulong", "out[i] = uint(simd_sum(ulong(u[i]) << 32) >> 32);"),
       kThreads, sum_u, kPartial},
      {"sum_long", KERNEL("sum_long", "out[i] = uint(simd_sum(long(f[i])));"), kThreads, sum_f,
       kPartial, Type::kInt},
      {"sum_vector",
       FLOATS("sum_vector", "out[i] = simd_sum(float2(f[i], 1)).y + simd_sum(float2(f[i], 1)).x;"),
       kThreads, [](size_t i) { return sum_f(i) + double(end_of(i) - first_of(i)); }, kPartial,
       Type::kFloat},
      {"product", FLOATS("product", "out[i] = simd_product(i % 3 ? 1.0f : -1.0f);"), kThreads,
       [](size_t i) { return over(i, 1, [](double s, size_t k) { return s * sign_of(k); }); },
       kPartial, Type::kFloat},
      {"product_int", KERNEL("product_int", "out[i] = uint(simd_product(i % 3 ? 1 : -1));"),
       kThreads,
       [](size_t i) { return over(i, 1, [](double s, size_t k) { return s * sign_of(k); }); },
       kPartial, Type::kInt},
      {"max_float", FLOATS("max_float", "out[i] = simd_max(f[i]);"), kThreads, max_f, kPartial,
       Type::kFloat},
      {"min_float", FLOATS("min_float", "out[i] = simd_min(f[i]);"), kThreads, min_f, kPartial,
       Type::kFloat},
      {"max_ignores_nan", FLOATS("max_ignores_nan", "out[i] = simd_max(lane == 3 ? NAN : f[i]);"),
       kThreads,
       [](size_t i) {
         return over(i, -1e9,
                     [](double s, size_t k) { return k % 32 == 3 ? s : std::max(s, fin(k)); });
       },
       kPartial, Type::kFloat},
      {"max_int", KERNEL("max_int", "out[i] = uint(simd_max(int(f[i])));"), kThreads, max_f,
       kPartial, Type::kInt},
      {"min_short", KERNEL("min_short", "out[i] = uint(int(simd_min(short(f[i]))));"), kThreads,
       min_f, kPartial, Type::kInt},
      {"max_ulong", KERNEL("max_ulong", "out[i] = uint(simd_max(ulong(u[i]) << 40) >> 40);"),
       kThreads,
       [](size_t i) { return over(i, 0, [](double s, size_t k) { return std::max(s, uin(k)); }); },
       kPartial},
      {"min_half", FLOATS("min_half", "out[i] = float(simd_min(half(f[i])));"), kThreads, min_f,
       kPartial, Type::kFloat},
      {"and_or_xor",
       KERNEL("and_or_xor",
              "uint x = u[i] | 256; out[i] = simd_and(x) + (simd_or(x) << 10) + (simd_xor(u[i] & "
              "1) << 20);"),
       kThreads,
       [](size_t i) {
         uint32_t all = ~0u, some = 0, parity = 0;
         for (size_t k = first_of(i); k < end_of(i); ++k) {
           all &= uint_input(k) | 256;
           some |= uint_input(k) | 256;
           parity ^= uint_input(k) & 1;
         }
         return double(all + (some << 10) + (parity << 20));
       },
       kPartial},
      {"prefix_inclusive_sum",
       KERNEL("prefix_inclusive_sum", "out[i] = simd_prefix_inclusive_sum(u[i]);"), kThreads,
       [](size_t i) {
         return over(i, 0, [=](double s, size_t k) { return k <= i ? s + uin(k) : s; });
       },
       kPartial},
      {"prefix_exclusive_sum",
       FLOATS("prefix_exclusive_sum", "out[i] = simd_prefix_exclusive_sum(f[i]);"), kThreads,
       [](size_t i) {
         return over(i, 0, [=](double s, size_t k) { return k < i ? s + fin(k) : s; });
       },
       kPartial, Type::kFloat},
      {"prefix_inclusive_product",
       FLOATS("prefix_inclusive_product",
              "out[i] = simd_prefix_inclusive_product(i % 3 ? 1.0f : -1.0f);"),
       kThreads,
       [](size_t i) {
         return over(i, 1, [=](double s, size_t k) { return k <= i ? s * sign_of(k) : s; });
       },
       kPartial, Type::kFloat},
      {"prefix_exclusive_product",
       FLOATS("prefix_exclusive_product",
              "out[i] = simd_prefix_exclusive_product(i % 3 ? 1.0f : -1.0f);"),
       kThreads,
       [](size_t i) {
         return over(i, 1, [=](double s, size_t k) { return k < i ? s * sign_of(k) : s; });
       },
       kPartial, Type::kFloat},
      {"prefix_half",
       FLOATS("prefix_half", "out[i] = float(simd_prefix_inclusive_sum(half(1.0h)));"), kThreads,
       [](size_t i) { return double(i % 32 + 1); }, kPartial, Type::kFloat},
      {"divergent_sum",
       KERNEL("divergent_sum", "if (i % 2) out[i] = simd_sum(u[i]); else out[i] = 1;"), kThreads,
       [](size_t i) {
         return i % 2 ? over(i, 0, [](double s, size_t k) { return s + uin(k); }, odd) : 1;
       },
       kPartial},
      {"divergent_both_sides",
       KERNEL("divergent_both_sides",
              "uint x; if (u[i] % 2) x = simd_sum(1u); else x = 100 * simd_sum(1u); out[i] = x;"),
       kThreads,
       [](size_t i) {
         const double same = over(i, 0, [=](double s, size_t k) {
           return s + (uint_input(k) % 2 == uint_input(i) % 2);
         });
         return uint_input(i) % 2 ? same : 100 * same;
       },
       kPartial},
      {"divergent_loop",
       KERNEL("divergent_loop",
              "uint t = 0; for (uint k = 0; k <= lane % 4; ++k) t += simd_sum(1u); out[i] = t;"),
       32,
       [](size_t i) {
         double t = 0;
         for (size_t k = 0; k <= i % 4; ++k) t += 32 - 8.0 * double(k);
         return t;
       },
       {.grid = MTL::Size(32, 1, 1), .group = MTL::Size(32, 1, 1)}},
      {"after_early_return",
       KERNEL("after_early_return", "out[i] = 0; if (lane >= 10) return; out[i] = simd_sum(1u);"),
       kThreads, [](size_t i) { return i % 32 < 10 ? 10 : 0; }, kPartial},
      {"in_function_call",
       "uint reduce_twice(uint x) { return simd_sum(x) + simd_max(x); }\n" KERNEL(
           "in_function_call", "out[i] = reduce_twice(u[i]);"),
       kThreads,
       [](size_t i) {
         return sum_u(i) + over(i, 0, [](double s, size_t k) { return std::max(s, uin(k)); });
       },
       kPartial},
      {"with_threadgroup_memory",
       "kernel void with_threadgroup_memory(device float* out [[buffer(0)]], const device float* f "
       "[[buffer(1)]], uint l [[thread_position_in_threadgroup]],"
       " uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]], "
       "uint groups [[simdgroups_per_threadgroup]]) {"
       " threadgroup float part[32]; float s = simd_sum(f[l]); if (lane == 0) part[group] = s; "
       "threadgroup_barrier(mem_flags::mem_threadgroup);"
       " s = simd_sum(lane < groups ? part[lane] : 0.0f); out[l] = s; }",
       200,
       [](size_t) {
         double s = 0;
         for (size_t k = 0; k < 200; ++k) s += fin(k);
         return s;
       },
       {.grid = MTL::Size(200, 1, 1), .group = MTL::Size(200, 1, 1)},
       Type::kFloat},
  });
  return table;
}
MSL_KERNELS(SimdReductions, reductions);

double shifted(size_t i, long by) {
  const long from = long(i) + by;
  return from >= 0 && exists(size_t(from), i) ? uin(size_t(from)) : uin(i);
}

KernelTable& shuffles() {
  static KernelTable table({
      {"shuffle", KERNEL("shuffle", "out[i] = simd_shuffle(u[i], ushort(17 - lane % 18));"),
       kThreads, [](size_t i) { return uin(first_of(i) + 17 - i % 32 % 18); }, kPartial},
      {"shuffle_float", FLOATS("shuffle_float", "out[i] = simd_shuffle(f[i], ushort(lane / 2));"),
       kThreads, [](size_t i) { return fin(first_of(i) + i % 32 / 2); }, kPartial, Type::kFloat},
      {"shuffle_half",
       FLOATS("shuffle_half", "out[i] = float(simd_shuffle(half(f[i]), ushort(0)));"), kThreads,
       [](size_t i) { return fin(first_of(i)); }, kPartial, Type::kFloat},
      {"shuffle_bfloat",
       FLOATS("shuffle_bfloat", "out[i] = float(simd_shuffle(bfloat(f[i]), ushort(1)));"), kThreads,
       [](size_t i) { return fin(first_of(i) + 1); }, kPartial, Type::kFloat},
      {"shuffle_ulong",
       KERNEL("shuffle_ulong",
              "ulong x = simd_shuffle(ulong(u[i]) << 33 | 1, ushort(3)); out[i] = uint(x >> 33) + "
              "uint(x);"),
       kThreads, [](size_t i) { return uin(first_of(i) + 3) + 1; }, kPartial},
      {"shuffle_uchar", KERNEL("shuffle_uchar", "out[i] = simd_shuffle(uchar(u[i]), ushort(5));"),
       kThreads, [](size_t i) { return uin(first_of(i) + 5); }, kPartial},
      {"shuffle_bool",
       KERNEL("shuffle_bool", "out[i] = simd_shuffle(u[i] % 2 == 1, ushort(6)) ? 1 : 2;"), kThreads,
       [](size_t i) { return uint_input(first_of(i) + 6) % 2 ? 1 : 2; }, kPartial},
      {"shuffle_vector",
       KERNEL("shuffle_vector",
              "uint3 v = simd_shuffle(uint3(u[i], lane, 7), ushort(lane ^ 1)); out[i] = v.x + 1000 "
              "* v.y;"),
       kThreads, [](size_t i) { return uin(i ^ 1) + 1000.0 * double((i ^ 1) % 32); }, kPartial},
      {"shuffle_up", KERNEL("shuffle_up", "out[i] = simd_shuffle_up(u[i], 3);"), kThreads,
       [](size_t i) { return shifted(i, -3); }, kPartial},
      {"shuffle_down", KERNEL("shuffle_down", "out[i] = simd_shuffle_down(u[i], 5);"), kThreads,
       [](size_t i) { return shifted(i, 5); }, kPartial},
      {"shuffle_down_by_half",
       FLOATS("shuffle_down_by_half",
              "float x = f[i]; for (ushort d = 16; d > 0; d /= 2) x += simd_shuffle_down(x, d); "
              "out[i] = simd_broadcast(x, 0);"),
       32,
       [](size_t) {
         double s = 0;
         for (size_t k = 0; k < 32; ++k) s += fin(k);
         return s;
       },
       {.grid = MTL::Size(32, 1, 1), .group = MTL::Size(32, 1, 1)},
       Type::kFloat},
      {"shuffle_xor", KERNEL("shuffle_xor", "out[i] = simd_shuffle_xor(u[i], 2);"), kThreads,
       [](size_t i) { return exists(i ^ 2, i) ? uin(i ^ 2) : uin(i); }, kPartial},
      {"rotate_up", KERNEL("rotate_up", "out[i] = simd_shuffle_rotate_up(u[i], 3);"), 64,
       [](size_t i) { return uin(first_of(i) + (i + 29) % 32); }},
      {"rotate_down", KERNEL("rotate_down", "out[i] = simd_shuffle_rotate_down(u[i], 3);"), 64,
       [](size_t i) { return uin(i / 32 * 32 + (i + 3) % 32); }},
      {"fill_up", KERNEL("fill_up", "out[i] = simd_shuffle_and_fill_up(u[i], 1000 + lane, 4);"), 64,
       [](size_t i) { return i % 32 >= 4 ? uin(i - 4) : 1000.0 + double(28 + i % 32); }},
      {"fill_down",
       KERNEL("fill_down", "out[i] = simd_shuffle_and_fill_down(u[i], 1000 + lane, 4);"), 64,
       [](size_t i) { return i % 32 < 28 ? uin(i + 4) : 1000.0 + double(i % 32 - 28); }},
      {"fill_up_modulo",
       KERNEL("fill_up_modulo", "out[i] = simd_shuffle_and_fill_up(u[i], 1000 + lane, 1, 8);"), 64,
       [](size_t i) { return i % 8 >= 1 ? uin(i - 1) : 1000.0 + double(i % 32 + 7); }},
      {"fill_down_modulo",
       KERNEL("fill_down_modulo", "out[i] = simd_shuffle_and_fill_down(u[i], 1000 + lane, 1, 8);"),
       64, [](size_t i) { return i % 8 < 7 ? uin(i + 1) : 1000.0 + double(i % 32 - 7); }},
      {"broadcast", KERNEL("broadcast", "out[i] = simd_broadcast(u[i], 9);"), kThreads,
       [](size_t i) { return uin(first_of(i) + 9); }, kPartial},
      {"broadcast_first", KERNEL("broadcast_first", "out[i] = simd_broadcast_first(u[i]);"),
       kThreads, [](size_t i) { return uin(first_of(i)); }, kPartial},
      {"broadcast_first_divergent",
       KERNEL("broadcast_first_divergent",
              "out[i] = 3; if (lane % 5 == 2) out[i] = simd_broadcast_first(u[i]);"),
       kThreads, [](size_t i) { return i % 32 % 5 == 2 ? uin(first_of(i) + 2) : 3; }, kPartial},
      {"ballot", KERNEL("ballot", "out[i] = uint(ulong(simd_ballot(u[i] % 2 == 1)));"), kThreads,
       [](size_t i) {
         return over(i, 0, [=](double s, size_t k) {
           return s + (uint_input(k) % 2 ? std::exp2(double(k % 32)) : 0);
         });
       },
       kPartial},
      {"ballot_divergent",
       KERNEL("ballot_divergent",
              "out[i] = 0; if (lane < 7) out[i] = uint(simd_vote::vote_t(simd_ballot(true)));"),
       kThreads, [](size_t i) { return i % 32 < 7 ? 127 : 0; }, kPartial},
      {"all_and_any",
       KERNEL("all_and_any",
              "out[i] = simd_all(u[i] < 251) + 2 * simd_all(lane < 5) + 4 * simd_any(lane == 5) + "
              "8 * simd_any(u[i] > 1000);"),
       kThreads, [](size_t) { return 5; }, kPartial},
      {"vote_all_any",
       KERNEL("vote_all_any",
              "out[i] = simd_ballot(true).all() + 2 * simd_ballot(lane == 0).any() + 4 * "
              "simd_ballot(lane == 0).all();"),
       kThreads, [](size_t) { return 3; }, kPartial},
      {"active_mask", KERNEL("active_mask", "out[i] = uint(ulong(simd_active_threads_mask()));"),
       kThreads, [](size_t i) { return i < 32 ? 4294967295.0 : 262143.0; }, kPartial},
      {"is_first",
       KERNEL("is_first", "out[i] = 0; if (lane > 3) out[i] = simd_is_first() ? 2 : 1;"), kThreads,
       [](size_t i) { return i % 32 > 3 ? (i % 32 == 4 ? 2 : 1) : 0; }, kPartial},
  });
  return table;
}
MSL_KERNELS(SimdShuffles, shuffles);

size_t quad(size_t i) {
  return i / 4 * 4;
}
double quad_sum(size_t i) {
  double s = 0;
  for (size_t k = 0; k < 4; ++k) s += uin(quad(i) + k);
  return s;
}

KernelTable& quads() {
  static KernelTable table({
      {"quad_sum_uint", KERNEL("quad_sum_uint", "out[i] = quad_sum(u[i]);"), 64, quad_sum},
      {"quad_sum_float",
       FLOATS("quad_sum_float", "out[i] = quad_sum(f[i]);"),
       64,
       [](size_t i) {
         double s = 0;
         for (size_t k = 0; k < 4; ++k) s += fin(quad(i) + k);
         return s;
       },
       {},
       Type::kFloat},
      {"quad_sum_partial", KERNEL("quad_sum_partial", "out[i] = quad_sum(1u);"), kThreads,
       [](size_t i) { return i < 48 ? 4 : 2; }, kPartial},
      {"quad_sum_divergent",
       KERNEL("quad_sum_divergent",
              "out[i] = 9; if (i % 4 != 1) out[i] = quad_sum(1u << (i % 4));"),
       64, [](size_t i) { return i % 4 == 1 ? 9 : 13; }},
      {"quad_product", KERNEL("quad_product", "out[i] = quad_product(i % 4 + 1);"), 64,
       [](size_t) { return 24; }},
      {"quad_min_max", KERNEL("quad_min_max", "out[i] = quad_max(i) * 100 + quad_min(i);"), 64,
       [](size_t i) { return double((quad(i) + 3) * 100 + quad(i)); }},
      {"quad_logic",
       KERNEL("quad_logic",
              "uint b = 1u << (i % 4); out[i] = quad_or(b) + 100 * quad_and(b | 16) + 10000 * "
              "quad_xor(b);"),
       64, [](size_t) { return 15 + 1600 + 150000; }},
      {"quad_broadcast_lane", KERNEL("quad_broadcast_lane", "out[i] = quad_broadcast(u[i], 2);"),
       64, [](size_t i) { return uin(quad(i) + 2); }},
      {"quad_broadcast_first_lane",
       KERNEL("quad_broadcast_first_lane", "out[i] = quad_broadcast_first(u[i]);"), 64,
       [](size_t i) { return uin(quad(i)); }},
      {"quad_shuffle_any",
       KERNEL("quad_shuffle_any", "out[i] = quad_shuffle(u[i], ushort(3 - i % 4));"), 64,
       [](size_t i) { return uin(quad(i) + 3 - i % 4); }},
      {"quad_xor_shuffle", KERNEL("quad_xor_shuffle", "out[i] = quad_shuffle_xor(u[i], 1);"), 64,
       [](size_t i) { return uin(i ^ 1); }},
      {"quad_up_down",
       KERNEL("quad_up_down",
              "out[i] = quad_shuffle_up(u[i], 1) + 1000 * quad_shuffle_down(u[i], 1);"),
       64, [](size_t i) { return uin(i % 4 ? i - 1 : i) + 1000 * uin(i % 4 < 3 ? i + 1 : i); }},
      {"quad_rotate",
       KERNEL(
           "quad_rotate",
           "out[i] = quad_shuffle_rotate_up(u[i], 1) + 1000 * quad_shuffle_rotate_down(u[i], 1);"),
       64, [](size_t i) { return uin(quad(i) + (i + 3) % 4) + 1000 * uin(quad(i) + (i + 1) % 4); }},
      {"quad_fill", KERNEL("quad_fill", "out[i] = quad_shuffle_and_fill_up(u[i], 1000u, 1);"), 64,
       [](size_t i) { return i % 4 ? uin(i - 1) : 1000; }},
      {"quad_votes",
       KERNEL("quad_votes",
              "out[i] = uint(quad_vote::vote_t(quad_ballot(i % 4 > 1))) + 100 * quad_all(i < 1000) "
              "+ 1000 * quad_any(i % 4 == 2) + 10000 * quad_is_first();"),
       64, [](size_t i) { return 12 + 100 + 1000 + (i % 4 == 0 ? 10000 : 0); }},
      {"quad_prefix",
       KERNEL("quad_prefix",
              "out[i] = quad_prefix_inclusive_sum(1u) + 10 * quad_prefix_exclusive_sum(1u) + 100 * "
              "quad_prefix_inclusive_product(2u);"),
       64,
       [](size_t i) {
         return double(i % 4 + 1) + 10.0 * double(i % 4) + 100 * std::exp2(double(i % 4 + 1));
       }},
  });
  return table;
}
MSL_KERNELS(Quadgroup, quads);

}  // namespace
