// simdgroup_matrix 8x8 for half, bfloat and float. Inputs are small whole numbers: results are
// exact.
#include "tests/conformance/msl/kernel_case.h"

namespace {

using namespace msl_test;

double a(size_t row, size_t column) {
  return double((row * 3 + column * 5) % 7) - 3;
}
double b(size_t row, size_t column) {
  return double((row * 2 + column * 7) % 5) - 2;
}
double product(size_t row, size_t column) {
  double s = 0;
  for (size_t k = 0; k < 8; ++k) s += a(row, k) * b(k, column);
  return s;
}

// Fills threadgroup tiles A and B with the numbers above.
const char* const kDeclarations = R"(
float a_at(uint r, uint c) { return float((r * 3 + c * 5) % 7) - 3; }
float b_at(uint r, uint c) { return float((r * 2 + c * 7) % 5) - 2; }
template <typename T> void fill(threadgroup T* A, threadgroup T* B, uint lane) {
  for (uint k = lane; k < 64; k += 32) { A[k] = T(a_at(k / 8, k % 8)); B[k] = T(b_at(k / 8, k % 8)); }
  simdgroup_barrier(mem_flags::mem_threadgroup);
}
template <typename T> void show(threadgroup T* C, device float* out, uint lane) {
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = lane; k < 64; k += 32) out[k] = float(C[k]);
}
)";
#define KERNEL(name, T, body)                                                     \
  "kernel void " name                                                             \
  "(device float* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {"  \
  " threadgroup " T " A[64], B[64], C[64]; fill(A, B, lane); simdgroup_matrix<" T \
  ", 8, 8> ma, mb, mc;"                                                           \
  " simdgroup_load(ma, A, 8); simdgroup_load(mb, B, 8); " body                    \
  " simdgroup_store(mc, C, 8); show(C, out, lane); }"

const Launch kOne = {.grid = MTL::Size(32, 1, 1), .group = MTL::Size(32, 1, 1)};
KernelCase matrix_case(const char* name, const char* msl, double (*expected)(size_t, size_t)) {
  return {name, msl, 64, [=](size_t i) { return expected(i / 8, i % 8); }, kOne, Type::kFloat};
}

KernelTable& table() {
  static KernelTable table(
      {
          matrix_case("multiply_float",
                      KERNEL("multiply_float", "float", "simdgroup_multiply(mc, ma, mb);"),
                      product),
          matrix_case("multiply_half",
                      KERNEL("multiply_half", "half", "simdgroup_multiply(mc, ma, mb);"), product),
          matrix_case("multiply_bfloat",
                      KERNEL("multiply_bfloat", "bfloat", "simdgroup_multiply(mc, ma, mb);"),
                      product),
          matrix_case(
              "accumulate_float",
              KERNEL("accumulate_float", "float", "simdgroup_multiply_accumulate(mc, ma, mb, ma);"),
              [](size_t r, size_t c) { return product(r, c) + a(r, c); }),
          matrix_case(
              "accumulate_half",
              KERNEL("accumulate_half", "half", "simdgroup_multiply_accumulate(mc, ma, mb, ma);"),
              [](size_t r, size_t c) { return product(r, c) + a(r, c); }),
          matrix_case("accumulate_in_place",
                      KERNEL("accumulate_in_place", "float",
                             "mc = make_filled_simdgroup_matrix<float, 8, 8>(1.0f); for (int k = "
                             "0; k < 3; ++k) simdgroup_multiply_accumulate(mc, ma, mb, mc);"),
                      [](size_t r, size_t c) { return 1 + 3 * product(r, c); }),
          matrix_case("half_into_float",
                      "kernel void half_into_float(device float* out [[buffer(0)]], uint lane "
                      "[[thread_index_in_simdgroup]]) { threadgroup half A[64], B[64]; threadgroup "
                      "float C[64];"
                      " fill(A, B, lane); simdgroup_half8x8 ma, mb; simdgroup_float8x8 mc = "
                      "make_filled_simdgroup_matrix<float, 8>(0.f); simdgroup_load(ma, A, 8); "
                      "simdgroup_load(mb, B, 8);"
                      " simdgroup_multiply_accumulate(mc, ma, mb, mc); simdgroup_store(mc, C, 8); "
                      "show(C, out, lane); }",
                      product),
          matrix_case("operator_times", KERNEL("operator_times", "float", "mc = ma * mb;"),
                      product),
          matrix_case("copy", KERNEL("copy", "float", "mc = ma;"), a),
          matrix_case(
              "filled",
              KERNEL("filled", "half", "mc = make_filled_simdgroup_matrix<half, 8, 8>(2.5h);"),
              [](size_t, size_t) { return 2.5; }),
          matrix_case("diagonal", KERNEL("diagonal", "float", "mc = simdgroup_float8x8(3.0f);"),
                      [](size_t r, size_t c) { return r == c ? 3.0 : 0.0; }),
          matrix_case(
              "load_transposed",
              KERNEL("load_transposed", "float", "simdgroup_load(mc, A, 8, ulong2(0, 0), true);"),
              [](size_t r, size_t c) { return a(c, r); }),
          matrix_case(
              "load_transposed_scalar_origin",
              KERNEL("load_transposed_scalar_origin", "half", "simdgroup_load(mc, A, 8, 0, true);"),
              [](size_t r, size_t c) { return a(c, r); }),
          matrix_case(
              "store_transposed",
              KERNEL("store_transposed", "float",
                     "threadgroup float D[64]; simdgroup_store(ma, D, 8, ulong2(0, 0), true); "
                     "simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_load(mc, D, 8);"),
              [](size_t r, size_t c) { return a(c, r); }),
          matrix_case("product_with_transpose",
                      KERNEL("product_with_transpose", "float",
                             "simdgroup_float8x8 t; simdgroup_load(t, B, 8, ulong2(0, 0), true); "
                             "simdgroup_multiply(mc, ma, t);"),
                      [](size_t r, size_t c) {
                        double s = 0;
                        for (size_t k = 0; k < 8; ++k) s += a(r, k) * b(c, k);
                        return s;
                      }),
          matrix_case("thread_elements_layout",
                      KERNEL("thread_elements_layout", "float",
                             "uint row = (lane >> 4) * 4 + ((lane >> 1) & 3), col = ((lane >> 3) & "
                             "1) * 4 + (lane & 1) * 2;"
                             " mc.thread_elements()[0] = float(row * 10 + col); "
                             "mc.thread_elements()[1] = float(row * 10 + col + 1);"),
                      [](size_t r, size_t c) { return double(r * 10 + c); }),
          matrix_case(
              "thread_elements_read",
              KERNEL("thread_elements_read", "float",
                     "mc = ma; mc.thread_elements() = ma.thread_elements() * 2.0f + float2(1);"),
              [](size_t r, size_t c) { return 2 * a(r, c) + 1; }),
          // Each lane fetches its own elements; 2 x 3 sums share their operands, one more does not.
          {"sums_that_share",
           "simdgroup_float8x8 pair_of(float x, float y) { simdgroup_float8x8 m; "
           "m.thread_elements()[0] = x; m.thread_elements()[1] = y; return m; }"
           "kernel void sums_that_share(device float* out [[buffer(0)]], const device float* f "
           "[[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {"
           "  threadgroup float A[16 * 40], B[32 * 29];"
           "  for (uint i = lane; i < 640; i += 32) A[i] = float(int(i * 7 % 11) - 5);"
           "  for (uint i = lane; i < 928; i += 32) B[i] = float(int(i * 5 % 13) - 6);"
           "  simdgroup_barrier(mem_flags::mem_threadgroup);"
           "  short row = (lane / 16) * 4 + lane / 2 % 4, col = lane / 8 % 2 * 4 + lane % 2 * 2;"
           "  simdgroup_float8x8 sum[2][3] = {}, other = pair_of(1, 2);"
           "  _Pragma(\"clang loop unroll(full)\") for (int k = 0; k < 32; k += 8)"
           "    for (int i = 0; i < 2; ++i)"
           "      for (int j = 0; j < 3; ++j) {"
           "        threadgroup const float* a = A + (row + 8 * i) * 40 + col + k;"
           "        threadgroup const float* b = B + (row + k) * 29 + col + 8 * j;"
           "        simdgroup_float8x8 x = pair_of(a[0], a[1]), y = pair_of(b[0], b[1]);"
           "        simdgroup_multiply_accumulate(sum[i][j], x, y, sum[i][j]);"
           "        if (k == 8 && i == 1 && j == 2) simdgroup_multiply_accumulate(other, y, x, "
           "other);"
           "      }"
           "  for (int i = 0; i < 6; ++i) simdgroup_store(sum[i / 3][i % 3], out + 64 * i, 8);"
           "  simdgroup_store(other, out + 384, 8);"
           "}",
           448,
           [](size_t i) {
             auto at_a = [](size_t r, size_t c) { return double((r * 40 + c) * 7 % 11) - 5; };
             auto at_b = [](size_t r, size_t c) { return double((r * 29 + c) * 5 % 13) - 6; };
             const size_t m = i / 64, r = i / 8 % 8, c = i % 8;
             double s = m == 6 ? double(1 + c % 2) : 0;
             for (size_t k = 0; k < (m == 6 ? 8 : 32); ++k)
               s += m == 6 ? at_b(r + 8, k + 16) * at_a(k + 8, c + 8)
                           : at_a(r + 8 * (m / 3), k) * at_b(k, c + 8 * (m % 3));
             return s;
           },
           kOne, Type::kFloat},
          {"origin_and_stride",
           "kernel void origin_and_stride(device float* out [[buffer(0)]], const device float* f "
           "[[buffer(1)]]) { simdgroup_float8x8 m; simdgroup_load(m, f, 20, ulong2(3, 2)); "
           "simdgroup_store(m, out, 8); }",
           64, [](size_t i) { return double(float_input((i / 8 + 2) * 20 + 3 + i % 8)); }, kOne,
           Type::kFloat},
          {"store_origin_and_stride",
           "kernel void store_origin_and_stride(device float* out [[buffer(0)]], const device "
           "float* f [[buffer(1)]]) { simdgroup_float8x8 m; simdgroup_load(m, f, 8); "
           "simdgroup_store(m, out, 16, ulong2(4, 1)); }",
           160,
           [](size_t i) {
             const size_t row = i / 16, column = i % 16;
             return row >= 1 && row < 9 && column >= 4 && column < 12
                        ? double(float_input((row - 1) * 8 + column - 4))
                        : kAny;
           },
           kOne, Type::kFloat},
          {"matmul_16x16x16",
           "kernel void matmul_16x16x16(device float* out [[buffer(0)]], const device float* f "
           "[[buffer(1)]], uint s [[simdgroup_index_in_threadgroup]]) {"
           " uint row = s / 2 * 8, col = s % 2 * 8; simdgroup_float8x8 acc(0), x, y; for (uint k = "
           "0; k < 16; k += 8) {"
           " simdgroup_load(x, f + row * 16 + k, 16); simdgroup_load(y, f + 256 + k * 16 + col, "
           "16); simdgroup_multiply_accumulate(acc, x, y, acc); }"
           " simdgroup_store(acc, out + row * 16 + col, 16); }",
           256,
           [](size_t i) {
             double s = 0;
             for (size_t k = 0; k < 16; ++k)
               s += double(float_input(i / 16 * 16 + k)) * float_input(256 + k * 16 + i % 16);
             return s;
           },
           {.grid = MTL::Size(128, 1, 1), .group = MTL::Size(128, 1, 1)},
           Type::kFloat},
      },
      kDeclarations);
  return table;
}
MSL_KERNELS(SimdgroupMatrix, table);

}  // namespace
