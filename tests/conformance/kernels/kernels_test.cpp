// Whole kernels of the kinds real engines use, at threadgroup sizes that are and are not multiples
// of the simdgroup width, each checked against host arithmetic and bit-equal for 1 and 2 workers.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <cmath>
#include <random>

#include "device_run.h"

namespace kernel_test {
namespace {

class KernelTest : public testing::TestWithParam<uint32_t> {
 protected:
  uint32_t group() const { return GetParam(); }

  // Runs on 1 and on 2 workers, expects the same bytes, returns them.
  static std::vector<std::vector<std::byte>> run_twice(const Program& run) {
    Program one = run, two = run;
    execute({.workers = 1}, one);
    execute({.workers = 2}, two);
    EXPECT_TRUE(one.buffers == two.buffers) << "1 and 2 workers differ";
    return two.buffers;
  }
};

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

TEST_P(KernelTest, IncOneFromTheFirstSeed) {
  const uint32_t n = 5000;
  Program run;
  run.source = R"(
        #include <metal_stdlib>
        using namespace metal;
        kernel void inc_one(
            device const float *in   [[buffer(0)]],
            device       float *out  [[buffer(1)]],
            uint id [[thread_position_in_grid]]
        ) {
            out[id] = in[id] + 1.0f;
        })";
  run.kernel = "inc_one";
  run.grid = MTL::Size(n, 1, 1);
  run.group = MTL::Size(group(), 1, 1);
  std::vector<float> in(n);
  for (uint32_t i = 0; i < n; ++i) in[i] = float(i);
  run.buffers = {bytes_of(in), bytes_of(std::vector<float>(n, -1))};
  auto out = values_of<float>(run_twice(run)[1]);
  for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(out[i], float(i) + 1) << i;
}

TEST_P(KernelTest, ReductionWithSimdSumAndBarriers) {
  const uint32_t rows = 9, columns = 1237;
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void row_sum(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                        constant uint& columns [[buffer(2)]], threadgroup float* partial [[threadgroup(0)]],
                        uint row [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]]) {
      float sum = 0;
      for (uint i = tid; i < columns; i += threads) sum += in[row * columns + i];
      sum = simd_sum(sum);
      if (lane == 0) partial[simdgroup] = sum;
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint stride = 1; stride < simdgroups; stride *= 2) {
        float other = tid + stride < simdgroups ? partial[tid + stride] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < simdgroups) partial[tid] += other;
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
      if (tid == 0) out[row] = partial[0];
    })";
  run.kernel = "row_sum";
  run.grid = MTL::Size(rows * group(), 1, 1);
  run.group = MTL::Size(group(), 1, 1);
  run.threadgroup_bytes = 32 * sizeof(float);
  std::vector<float> in = random_floats(rows * columns, 1);
  run.buffers = {bytes_of(in), bytes_of(std::vector<float>(rows)),
                 bytes_of(std::vector<uint32_t>{columns})};
  auto out = values_of<float>(run_twice(run)[1]);
  for (uint32_t row = 0; row < rows; ++row) {
    double sum = 0, magnitude = 0;
    for (uint32_t i = 0; i < columns; ++i) {
      sum += in[row * columns + i];
      magnitude += std::fabs(in[row * columns + i]);
    }
    EXPECT_NEAR(out[row], sum, magnitude * 1e-6) << row;
  }
}

TEST_P(KernelTest, HistogramWithAtomics) {
  const uint32_t n = 20011, bins = 64;
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void histogram(device const uint* in [[buffer(0)]], device atomic_uint* out [[buffer(1)]],
                          uint id [[thread_position_in_grid]], uint tid [[thread_index_in_threadgroup]],
                          uint threads [[threads_per_threadgroup]]) {
      threadgroup atomic_uint local[64];
      for (uint i = tid; i < 64; i += threads) atomic_store_explicit(&local[i], 0, memory_order_relaxed);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      atomic_fetch_add_explicit(&local[in[id] % 64], 1, memory_order_relaxed);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = tid; i < 64; i += threads)
        atomic_fetch_add_explicit(&out[i], atomic_load_explicit(&local[i], memory_order_relaxed), memory_order_relaxed);
    })";
  run.kernel = "histogram";
  run.grid = MTL::Size(n, 1, 1);
  run.group = MTL::Size(group(), 1, 1);
  std::mt19937 generator(7);
  std::vector<uint32_t> in(n), expected(bins);
  for (uint32_t& value : in) {
    value = generator();
    ++expected[value % bins];
  }
  run.buffers = {bytes_of(in), bytes_of(std::vector<uint32_t>(bins))};
  EXPECT_EQ(values_of<uint32_t>(run_twice(run)[1]), expected);
}

// Lanes take different paths around simd functions; some return before a barrier.
TEST_P(KernelTest, DivergentLanes) {
  const uint32_t groups = 3;
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void divergent(device uint* out [[buffer(0)]], uint id [[thread_position_in_grid]],
                          uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
      if (tid % 5 == 4) { out[id] = 1000; return; }
      uint value;
      if (lane % 2 == 0) value = simd_sum(lane);
      else value = simd_sum(lane) + 100;  // the same function, another set of lanes
      threadgroup_barrier(mem_flags::mem_none);
      for (uint i = 0; i < lane % 3; ++i) value += simd_sum(1u);
      out[id] = value;
    })";
  run.kernel = "divergent";
  run.grid = MTL::Size(groups * group(), 1, 1);
  run.group = MTL::Size(group(), 1, 1);
  run.buffers = {bytes_of(std::vector<uint32_t>(groups * group()))};
  auto out = values_of<uint32_t>(run_twice(run)[0]);
  for (uint32_t id = 0; id < out.size(); ++id) {
    uint32_t tid = id % group(), first = tid / 32 * 32;
    auto alive = [&](uint32_t lane) { return first + lane < group() && (first + lane) % 5 != 4; };
    uint32_t lane = tid % 32, expected = 1000;
    if (tid % 5 != 4) {
      uint32_t sum[2] = {0, 0};
      for (uint32_t l = 0; l < 32; ++l)
        if (alive(l)) sum[l % 2] += l;
      expected = lane % 2 == 0 ? sum[0] : sum[1] + 100;
      for (uint32_t i = 0; i < lane % 3; ++i)  // those still in the loop add one each
        for (uint32_t l = 0; l < 32; ++l) expected += alive(l) && i < l % 3;
    }
    ASSERT_EQ(out[id], expected) << "thread " << tid;
  }
}

// A reduction of what lanes hold when they leave a loop, each in its own round: no code lies
// between.
TEST_P(KernelTest, SumBehindALoopThatLanesLeaveOneByOne) {
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void leave(device uint* out [[buffer(0)]], device const uint* in [[buffer(1)]],
                      uint tid [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
      uint value = 0, rounds = 0;
      do value += in[lane * 9 + rounds]; while (++rounds < (lane & 3));
      out[tid] = simd_sum(value);
    })";
  run.kernel = "leave";
  run.grid = run.group = MTL::Size(group(), 1, 1);
  std::vector<uint32_t> in(32 * 9);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = i * i;
  run.buffers = {bytes_of(std::vector<uint32_t>(group())), bytes_of(in)};
  auto out = values_of<uint32_t>(run_twice(run)[0]);
  for (uint32_t tid = 0; tid < group(); ++tid) {
    uint32_t expected = 0;
    for (uint32_t lane = 0; lane < 32 && tid / 32 * 32 + lane < group(); ++lane)
      for (uint32_t i = 0; i < std::max(1u, lane & 3); ++i) expected += in[lane * 9 + i];
    ASSERT_EQ(out[tid], expected) << "thread " << tid;
  }
}

// Threads part within a branch that all of them take alike, on a number that the branch changes.
TEST_P(KernelTest, ThreadsPartInABranchTheyTakeTogether) {
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    kernel void part(device uint* out [[buffer(0)]], constant uint& rounds [[buffer(1)]],
                     constant uint& more [[buffer(2)]], uint id [[thread_position_in_grid]],
                     uint total [[threads_per_grid]]) {
      uint state = 5, a = id, b = id * 3, c = 0, i = 0;
      do {
        if (state & 1) {
          state = more + i;
          if (id > 9) a = id / 3;
          else { b += 2; c = 7 * id; }
        }
      } while (++i < rounds);
      out[id] = a + b + c;
      out[id + total] = state;
    })";
  run.kernel = "part";
  const uint32_t threads = 2 * group();
  run.grid = MTL::Size(threads, 1, 1);
  run.group = MTL::Size(group(), 1, 1);
  run.buffers = {bytes_of(std::vector<uint32_t>(2 * threads)), bytes_of(std::vector<uint32_t>{4}),
                 bytes_of(std::vector<uint32_t>{3})};
  auto out = values_of<uint32_t>(run_twice(run)[0]);
  for (uint32_t id = 0; id < threads; ++id) {  // state: 5, 3, 4
    ASSERT_EQ(out[id], id > 9 ? id / 3 + id * 3 : id + id * 3 + 4 + 7 * id) << id;
    ASSERT_EQ(out[id + threads], 4u) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(ThreadgroupSizes, KernelTest,
                         testing::Values(1, 31, 32, 33, 100, 256, 1024));

// An 8x8 tile per simdgroup; matrix operations need whole simdgroups.
class MatrixTest : public testing::TestWithParam<std::string> {};

TEST_P(MatrixTest, SimdgroupMatmul) {
  const uint32_t size = 64;
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    typedef )" +
               GetParam() + R"( T;
    kernel void matmul(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                       device float* c [[buffer(2)]], constant uint& n [[buffer(3)]],
                       threadgroup T* tile [[threadgroup(0)]],
                       uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
      threadgroup T* ta = tile + simdgroup * 128;
      threadgroup T* tb = ta + 64;
      uint row = group.y * 8, column = (group.x * 4 + simdgroup) * 8;
      simdgroup_matrix<float, 8, 8> sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      for (uint k = 0; k < n; k += 8) {
        for (uint i = lane; i < 64; i += 32) {
          ta[i] = T(a[(row + i / 8) * n + k + i % 8]);
          tb[i] = T(b[(k + i / 8) * n + column + i % 8]);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_matrix<T, 8, 8> ma, mb;
        simdgroup_load(ma, ta, 8);
        simdgroup_load(mb, tb, 8);
        simdgroup_multiply_accumulate(sum, ma, mb, sum);
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
      simdgroup_store(sum, c + row * n + column, n);
    })";
  run.kernel = "matmul";
  run.grid = MTL::Size(size / 32 * 128, size / 8, 1);
  run.group = MTL::Size(128, 1, 1);
  run.threadgroup_bytes = 4 * 128 * sizeof(float);
  // Small integers: exact in every type and in every order.
  std::vector<float> a(size * size), b(size * size);
  std::mt19937 generator(3);
  for (float& value : a) value = float(int(generator() % 9) - 4);
  for (float& value : b) value = float(int(generator() % 9) - 4);
  run.buffers = {bytes_of(a), bytes_of(b), bytes_of(std::vector<float>(size * size)),
                 bytes_of(std::vector<uint32_t>{size})};
  execute({.workers = 2}, run);
  auto c = values_of<float>(run.buffers[2]);
  for (uint32_t i = 0; i < size; ++i)
    for (uint32_t j = 0; j < size; ++j) {
      float expected = 0;
      for (uint32_t k = 0; k < size; ++k) expected += a[i * size + k] * b[k * size + j];
      ASSERT_EQ(c[i * size + j], expected) << i << "," << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, MatrixTest, testing::Values("float", "half", "bfloat"));

// The work-item loop and the coroutine tier give the same bits, ragged edges included.
TEST(Tiers, AgreeOnAKernelWithoutCrossLaneOperations) {
  Program run;
  run.source = R"(
    #include <metal_stdlib>
    using namespace metal;
    struct Params { uint width; float scale; };
    kernel void mix(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                    constant Params& p [[buffer(2)]], uint2 id [[thread_position_in_grid]]) {
      float x = in[id.y * p.width + id.x];
      float table[4];
      for (int i = 0; i < 4; ++i) table[i] = exp(x * i) + sin(x) * p.scale;
      out[id.y * p.width + id.x] = table[(id.x + id.y) % 4] / (1.0f + fabs(x));
    })";
  run.kernel = "mix";
  const uint32_t width = 37, height = 11;
  run.grid = MTL::Size(width, height, 1);
  run.group = MTL::Size(16, 4, 1);
  std::vector<uint32_t> params = {width, 0x3f000000};
  std::vector<float> in = random_floats(width * height, 5);
  run.buffers = {bytes_of(in), bytes_of(std::vector<float>(width * height)), bytes_of(params)};
  Program loop = run, coroutine = run;
  execute({.workers = 2, .tier = 0}, loop);
  execute({.workers = 2, .tier = 3}, coroutine);
  EXPECT_TRUE(loop.buffers == coroutine.buffers);
  auto out = values_of<float>(loop.buffers[1]);
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x) {
      float v = in[y * width + x];
      double expected =
          (std::exp(double(v) * ((x + y) % 4)) + std::sin(double(v)) * 0.5) / (1 + std::fabs(v));
      ASSERT_NEAR(out[y * width + x], expected, 1e-5 * std::fabs(expected) + 1e-6);
    }
}

}  // namespace
}  // namespace kernel_test
