// The matrix product of Metal 4's tensor primitives, with operands in memory and in registers.
#include <random>

#include "device_run.h"

namespace kernel_test {
namespace {

std::vector<float> small_integers(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = float(int(generator() % 9) - 4);
  return values;
}

// c = c0 + op(a) * op(b); row-major, exact in float.
std::vector<float> reference(const std::vector<float>& a, const std::vector<float>& b,
                             std::vector<float> c, int m, int n, int k, bool transpose_a,
                             bool transpose_b) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l)
        c[i * n + j] += (transpose_a ? a[l * m + i] : a[i * k + l]) *
                        (transpose_b ? b[j * k + l] : b[l * n + j]);
  return c;
}

const std::string kHead = R"(
  #include <metal_stdlib>
  #include <metal_tensor>
  #include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
  using namespace metal;
  using namespace mpp::tensor_ops;
)";

class TensorTest : public testing::TestWithParam<std::tuple<bool, bool>> {};

// 40 x 24 results from tiles of 32 x 32: the tile hangs over the edges of device memory.
TEST_P(TensorTest, OperandsInMemory) {
  auto [ta, tb] = GetParam();
  const int m = 40, n = 24, k = 20;
  Program program;
  program.source = kHead + "#define TA " + (ta ? "true" : "false") + "\n#define TB " +
                   (tb ? "true" : "false") + R"(
    kernel void product(device half* a, device float* b, device float* c, constant int3& size,
                        uint2 group [[threadgroup_position_in_grid]]) {
      int m = size.x, n = size.y, k = size.z;
      auto ta = tensor<device half, dextents<int32_t, 2>, tensor_inline>(
          a, TA ? dextents<int32_t, 2>(m, k) : dextents<int32_t, 2>(k, m));
      auto tb = tensor(b, TB ? dextents<int32_t, 2>(k, n) : dextents<int32_t, 2>(n, k),
                       array<int, 2>({1, TB ? k : n}));
      auto tc = tensor(c, dextents<int32_t, 2>(n, m));
      matmul2d<matmul2d_descriptor(32, 32, static_cast<int>(dynamic_extent), TA, TB, false,
                                   matmul2d_descriptor::mode::multiply_accumulate),
               execution_simdgroups<2>> mm;
      auto ct = mm.get_destination_cooperative_tensor<decltype(ta), decltype(tb), float>();
      int row = group.y * 32, column = group.x * 32;
      ct.load(tc.slice(column, row));
      mm.run(TA ? ta.slice(row, 0) : ta.slice(0, row), TB ? tb.slice(0, column) : tb.slice(column, 0), ct);
      ct.store(tc.slice(column, row));
    })";
  program.kernel = "product";
  program.grid = MTL::Size(64, 2, 1);
  program.group = MTL::Size(64, 1, 1);
  std::vector<float> a = small_integers(m * k, 1), b = small_integers(k * n, 2),
                     c = small_integers(m * n, 3);
  std::vector<_Float16> half_a(a.begin(), a.end());
  program.buffers = {bytes_of(half_a), bytes_of(b), bytes_of(c),
                     bytes_of(std::vector<int>{m, n, k, 0})};
  execute({.workers = 2}, program);
  EXPECT_EQ(values_of<float>(program.buffers[2]), reference(a, b, c, m, n, k, ta, tb));
}

// A 32 x 16 by 16 x 32 product with all three operands spread over one simdgroup.
TEST_P(TensorTest, OperandsInRegisters) {
  auto [ta, tb] = GetParam();
  const int m = 32, n = 32, k = 16;
  Program program;
  program.source = kHead + "#define TA " + (ta ? "true" : "false") + "\n#define TB " +
                   (tb ? "true" : "false") + R"(
    kernel void product(device float* a, device float* b, device float* c) {
      constexpr auto descriptor = matmul2d_descriptor(32, 32, 16, TA, TB, true,
                                                      matmul2d_descriptor::mode::multiply_accumulate);
      matmul2d<descriptor, execution_simdgroup> mm;
      auto ca = mm.get_left_input_cooperative_tensor<half, half, float>();
      auto cb = mm.get_right_input_cooperative_tensor<half, half, float>();
      auto cc = mm.get_destination_cooperative_tensor<decltype(ca), decltype(cb), float>();
      for (int i = 0; i < ca.get_capacity(); ++i) {
        auto at = ca.get_multidimensional_index(i);
        ca[i] = half(a[at[1] * (TA ? 32 : 16) + at[0]]);
      }
      for (int i = 0; i < cb.get_capacity(); ++i) {
        auto at = cb.get_multidimensional_index(i);
        cb[i] = half(b[at[1] * (TB ? 16 : 32) + at[0]]);
      }
      auto tc = tensor(c, dextents<int32_t, 2>(32, 32));
      cc.load(tc);
      mm.run(ca, cb, cc);
      cc.store(tc);
    })";
  program.kernel = "product";
  program.grid = program.group = MTL::Size(32, 1, 1);
  std::vector<float> a = small_integers(m * k, 4), b = small_integers(k * n, 5),
                     c = small_integers(m * n, 6);
  program.buffers = {bytes_of(a), bytes_of(b), bytes_of(c)};
  execute({.workers = 1}, program);
  EXPECT_EQ(values_of<float>(program.buffers[2]), reference(a, b, c, m, n, k, ta, tb));
}

INSTANTIATE_TEST_SUITE_P(Transposes, TensorTest,
                         testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace kernel_test
