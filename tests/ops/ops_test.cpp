// What case tables do not say: bits that two ways of calling share, captures, and declared
// accesses.
#include <algorithm>
#include <random>

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/op_kind.h"
#include "mlxn/ops/softmax/softmax.h"
#include "mlxn/testing/stored_values.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

std::vector<std::byte> bytes_of(const Buffer& buffer) {
  const auto view = buffer.as_slice<std::byte>();
  return {view->begin(), view->end()};
}

class Ops : public testing::TestWithParam<Dtype> {
 protected:
  Dtype dtype() const { return GetParam(); }
  Dtype weight_dtype() const { return dtype() == Dtype::kF16 ? Dtype::kF32 : dtype(); }

  Buffer random(Dtype dtype, const Shape& shape) {
    auto buffer = device_.alloc(dtype, shape);
    std::vector<double> values(buffer->element_count());
    std::uniform_real_distribution<double> distribution(-2, 2);
    for (double& value : values) value = distribution(generator_);
    const Status stored = cases::store(dtype, values, *buffer->as_mut_slice<std::byte>());
    EXPECT_TRUE(stored) << stored.error().to_string();
    return *buffer;
  }
  Buffer numbers(const std::vector<uint32_t>& values) {
    auto buffer = device_.alloc(Dtype::kU32, {values.size()});
    std::ranges::copy(values, buffer->as_mut_slice<uint32_t>()->begin());
    return *buffer;
  }

  template <class Encode>
  void run(const Encode& encode) {
    CommandEncoder encoder(device_);
    const Status encoded = encode(encoder);
    EXPECT_TRUE(encoded) << encoded.error().to_string();
    const Status done = encoder.commit_and_wait();
    EXPECT_TRUE(done) << done.error().to_string();
  }

  const Device& device_ = op_devices().front()->device;
  std::mt19937_64 generator_{17};
};

INSTANTIATE_TEST_SUITE_P(Dtypes, Ops, testing::Values(Dtype::kF32, Dtype::kF16, Dtype::kBf16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// What the graph's fusion relies on.
TEST_P(Ops, FusedNormHasTheBitsOfNormAndMultiply) {
  for (const Shape& shape : {Shape{1, 1}, {4, 8}, {7, 31}, {5, 255}, {3, 257}, {2, 2816}}) {
    const Buffer x = random(dtype(), shape), w = random(weight_dtype(), {shape[1]});
    const Buffer scale = random(dtype(), shape), norm = random(dtype(), shape);
    const Buffer apart = random(dtype(), shape), fused = random(dtype(), shape);
    run([&](CommandEncoder& encoder) -> Status {
      MLXN_TRY(rms_norm(encoder, {.input = x, .weight = w, .output = norm}));
      MLXN_TRY(encoder.memory_barrier());
      MLXN_TRY(elementwise_mul(encoder, {norm, scale, apart}));
      return rms_norm_mul(encoder, {{.input = x, .weight = w, .output = fused}, scale});
    });
    EXPECT_EQ(bytes_of(apart), bytes_of(fused)) << shape.to_string();
  }
}

// Tags and accesses reach a capture, where fusion and reordering read them.
TEST_P(Ops, AreCapturedWithKindAndAccesses) {
  const Buffer x = random(dtype(), {2, 8}), w = random(weight_dtype(), {8}),
               y = random(dtype(), {2, 8});
  CommandEncoder encoder(device_);
  encoder.start_capture();
  const RmsNormParams params = {.input = x, .weight = w, .output = y};
  EXPECT_TRUE(elementwise_add(encoder, {x, x, y}));
  EXPECT_TRUE(elementwise_mul(encoder, {x, x, y}));
  EXPECT_TRUE(rms_norm(encoder, params));
  EXPECT_TRUE(softmax(encoder, {x, y}));
  EXPECT_TRUE(rms_norm_mul(encoder, {params, x}));
  const auto nodes = encoder.take_capture();
  ASSERT_EQ(nodes->size(), 5u);
  const OpKind kinds[] = {OpKind::kElemAdd, OpKind::kElemMul, OpKind::kRmsNorm, OpKind::kSoftmax,
                          OpKind::kOther};
  const size_t reads[] = {2, 2, 2, 1, 3};
  for (size_t i = 0; i < 5; ++i) {
    const CapturedNode& node = (*nodes)[i];
    EXPECT_EQ(node.op.name, kinds[i].name) << i;
    EXPECT_TRUE(node.annotated) << i;
    EXPECT_EQ(node.reads().size(), reads[i]) << i;
    ASSERT_EQ(node.writes().size(), 1u) << i;
    EXPECT_EQ(node.writes()[0], BufferRange::from_buffer(y, MemRangeRole::kDst)) << i;
  }
  EXPECT_EQ((*nodes)[2].pipeline.identity().name, str("rms_norm_", to_string(dtype())));
  EXPECT_EQ((*nodes)[2].grid.width, 2u);
  EXPECT_EQ((*nodes)[2].threadgroup.width, 8u);
}

// The kernels' own reflection agrees with what the ops declare.
TEST_P(Ops, DeclareWhatTheKernelsDo) {
  const std::string suffix = str("_", to_string(dtype()));
  std::vector<std::pair<std::string, KernelAccess>> kernels = {
      {"elementwise_add" + suffix, {0b1111, 0b0100, true}},
      {"elementwise_mul" + suffix, {0b1111, 0b0100, true}},
      {"silu_mul" + suffix, {0b1111, 0b0100, true}},
      {"rms_norm" + suffix, {0b1111, 0b0100, true}},
      {"rms_norm_mul" + suffix, {0b11111, 0b1000, true}},
      {"softmax" + suffix, {0b111, 0b010, true}},
      {"embedding" + suffix, {0b1111, 0b0100, true}},
      {"matmul_1" + suffix, {0b1111, 0b0100, true}},
      {"rope_halves_f32", {0b1111, 0b0100, true}},
      {"argmax_f32", {0b1111, 0b1010, true}},
      {"kv_write_f16", {0b1111111, 0b0110000, true}},
      {"attention_8_64_f16", {0b1111111, 0b0100000, true}},
  };
  for (const auto& [name, access] : kernels) {
    const auto pipeline = builtin_pipeline(device_, name);
    ASSERT_TRUE(pipeline) << pipeline.error().to_string();
    EXPECT_EQ(pipeline->access().required, access.required) << name;
    EXPECT_EQ(pipeline->access().writes, access.writes) << name;
    EXPECT_TRUE(pipeline->access().known) << name;
  }
}

// What whole models rely on: a row has the same bits alone and among any number of others.
TEST_P(Ops, RowsOfAProductDoNotKnowEachOther) {
  constexpr uint64_t kRows = 13, kColumns = 7;
  for (Dtype format : {dtype(), Dtype::kQ4_1, Dtype::kQ6_K}) {
    const uint64_t depth = is_quantized(format) ? 1280 : 1100;
    const Buffer w = random(format, {kColumns, depth}), x = random(Dtype::kF32, {kRows, depth});
    const Buffer all = random(Dtype::kF32, {kRows, kColumns});
    run([&](CommandEncoder& encoder) { return matmul(encoder, {w, x, all}); });
    for (uint64_t count : {1u, 2u, 4u, 5u, 8u, 9u}) {
      const Buffer part = *x.slice_view(4 * depth * (kRows - count), count * depth);
      const Buffer input = *part.reshape({count, depth});
      const Buffer some = random(Dtype::kF32, {count, kColumns});
      run([&](CommandEncoder& encoder) { return matmul(encoder, {w, input, some}); });
      const auto expected = all.slice_view(4 * kColumns * (kRows - count), count * kColumns);
      EXPECT_EQ(bytes_of(some), bytes_of(*expected)) << to_string(format) << ", " << count;
    }
  }
}

TEST_P(Ops, TokensDoNotKnowEachOther) {
  const bool rounded = dtype() == Dtype::kBf16;  // numbers, with a cache of f16
  const Dtype type = rounded ? Dtype::kF16 : dtype();
  const Shape cache = {2, 2, 96, 64};
  const Buffer keys = random(type, cache), values = random(type, cache);
  const Buffer queries = random(Dtype::kF32, {6, 4, 64}), all = random(Dtype::kF32, {6, 4, 64});
  const std::vector<uint32_t> positions = {70, 3, 71, 64, 0, 95}, sequences = {0, 1, 0, 1, 1, 0};
  auto attend = [&](const Buffer& q, const std::vector<uint32_t>& p, const std::vector<uint32_t>& s,
                    const Buffer& out) {
    const Buffer at = numbers(p), of = numbers(s);
    run([&](CommandEncoder& encoder) {
      return attention(encoder, {.queries = q,
                                 .key_cache = keys,
                                 .value_cache = values,
                                 .positions = at,
                                 .sequences = of,
                                 .output = out,
                                 .rounded = rounded});
    });
  };
  attend(queries, positions, sequences, all);
  for (uint64_t t = 0; t < 6; ++t) {
    const Buffer query = *queries.slice_view(1024 * t, 256)->reshape({1, 4, 64});
    const Buffer alone = random(Dtype::kF32, {1, 4, 64});
    attend(query, {positions[t]}, {sequences[t]}, alone);
    EXPECT_EQ(bytes_of(alone), bytes_of(*all.slice_view(1024 * t, 256))) << "token " << t;
  }
}

// A device of its own, so that nobody has asked for kernels before.
Device fresh_device() {
  return *Device::wrap(op_devices().front()->device.metal_device(), RuntimeOptions{});
}

TEST(OpKernels, ComeWithTheFirstOpOfADevice) {
  const Device device = fresh_device();
  EXPECT_EQ(device.kernels().source_count(), 0u);
  const Buffer a = *device.alloc(Dtype::kF32, {8});
  CommandEncoder encoder(device);
  ASSERT_TRUE(elementwise_add(encoder, {a, a, a}));
  EXPECT_EQ(device.kernels().source_count(), builtin_kernels().size());
  EXPECT_TRUE(device.kernels().is_cached("elementwise_add_f32", device));
  ASSERT_TRUE(elementwise_add(encoder, {a, a, a}));
  EXPECT_EQ(device.kernels().stats().compiled, 1u);
  EXPECT_EQ(device.kernels().stats().memory_hits, 1u);
}

TEST(OpKernels, AreReplacedByAUsersSource) {
  const Device device = fresh_device();
  device.kernels().register_source("elementwise_add_f32", R"(
#include <metal_stdlib>
kernel void elementwise_add_f32(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                                device float* out [[buffer(2)]], constant uint& count [[buffer(3)]],
                                uint i [[thread_position_in_grid]]) {
  if (i < count) out[i] = a[i] - b[i];
}
)");
  Buffer a = *device.alloc(Dtype::kF32, {8}), out = *device.alloc(Dtype::kF32, {8});
  out.as_mut_slice<float>()->front() = 5;
  CommandEncoder encoder(device);
  ASSERT_TRUE(elementwise_add(encoder, {a, out, out}));
  ASSERT_TRUE(encoder.commit_and_wait());
  EXPECT_EQ(out.as_slice<float>()->front(), -5);
}

}  // namespace
}  // namespace mlxn::test
