// What models rely on in products of packed weights: a row has the same bits alone and among any
// number of others, with any number of workers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "mlxn/base/strings.h"
#include "mlxn/ops/matmul/packed_float_matmul.h"
#include "mlxn/ops/matmul/packed_matmul.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/quant/pack_rows.h"
#include "mlxn/testing/packed_values.h"
#include "mlxn/testing/stored_values.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

constexpr uint64_t kColumns = 23;

Buffer filled(const Device& device, const cases::Tensor& tensor, uint64_t seed) {
  Buffer buffer = *device.alloc(tensor.dtype, tensor.shape);
  std::vector<double> values(buffer.element_count());
  cases::Random random(seed);
  tensor.fill(random, values);
  EXPECT_TRUE(cases::store(tensor.dtype, values, *buffer.as_mut_slice<std::byte>()));
  return buffer;
}

Status encode_product(ComputeEncoder& encoder, const PackedWeights& weights, const Buffer& rows,
                      const Buffer& output) {
  if (weights.is_float()) return packed_float_matmul(encoder, {weights, rows, output});
  MLXN_ASSIGN(const Shape shape, rounded_shape(rows.shape()[0], weights.depth));
  MLXN_ASSIGN(const Buffer rounded, encoder.device().alloc(Dtype::kI32, shape));
  MLXN_TRY(quantise_rows(encoder, {rows, rounded}));
  MLXN_TRY(encoder.memory_barrier());
  return packed_matmul(encoder, {weights, rounded, output});
}

// The product of some rows: rounded where the weights ask for it, then multiplied.
std::vector<std::byte> product(const Device& device, const PackedWeights& weights,
                               const Buffer& rows) {
  const Buffer output = *device.alloc(Dtype::kF32, {rows.shape()[0], weights.rows});
  CommandEncoder encoder(device);
  const Status encoded = encode_product(encoder, weights, rows, output);
  EXPECT_TRUE(encoded) << encoded.error().to_string();
  EXPECT_TRUE(encoder.commit_and_wait());
  const auto bytes = *output.as_slice<std::byte>();
  return {bytes.begin(), bytes.end()};
}

TEST(PackedProducts, RowsDoNotKnowEachOther) {
  constexpr uint64_t kRows = 37;
  for (Dtype format : kWeightFormats) {
    if (!quant::can_pack(format)) continue;
    const uint64_t block = info(format).block_elements;
    const uint64_t depth = block == 256 ? 768 : block == 32 ? 416 : 410;
    std::vector<std::byte> expected;
    for (const OpDevice* on : op_devices()) {
      const Device& device = on->device;
      const Buffer words = filled(device, cases::packed_weights(format, kColumns, depth), 3);
      const PackedWeights weights = {words, format, kColumns, depth};
      const Buffer rows =
          filled(device, {Dtype::kF32, {kRows, depth}, cases::Role::kIn, cases::uniform(-2, 2)}, 4);
      const auto all = product(device, weights, rows);
      if (expected.empty()) expected = all;
      EXPECT_EQ(all, expected) << to_string(format) << " on " << on->name;
      for (uint64_t count : {1u, 2u, 4u, 5u, 8u, 9u, 16u, 17u}) {
        const uint64_t first = kRows - count - 3;
        const Buffer part = *rows.slice_view(4 * depth * first, count * depth);
        const auto some = product(device, weights, *part.reshape({count, depth}));
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(4 * kColumns * first);
        EXPECT_TRUE(std::ranges::equal(some, std::span(begin, some.size())))
            << to_string(format) << ", " << count << " rows on " << on->name;
      }
    }
  }
}

// Weights of mxfp4 that are the same but for their scale, and so are the products.
TEST(PackedProducts, PowersOfTwoAreExact) {
  constexpr uint64_t kDepth = 96;
  const auto layout = *quant::packed_layout(Dtype::kMxfp4, kColumns, kDepth);
  std::vector<std::byte> stored(layout.stored_bytes()), packed(layout.packed_bytes());
  cases::Random random(5);
  for (std::byte& byte : stored) byte = std::byte(random() & 0xff);
  const Device& device = op_devices().front()->device;
  Buffer words = *device.alloc(Dtype::kU32, {packed.size() / 4});
  const PackedWeights weights = {words, Dtype::kMxfp4, kColumns, kDepth};
  const Buffer rows =
      filled(device, {Dtype::kF32, {5, kDepth}, cases::Role::kIn, cases::uniform(-2, 2)}, 6);
  const auto products = [&](int exponent) {
    for (size_t i = 0; i < stored.size(); i += 17) stored[i] = std::byte(exponent);
    for (uint64_t group = 0; group < layout.groups; ++group)
      EXPECT_TRUE(quant::pack_group(layout, stored, group, packed));
    std::ranges::copy(packed, words.as_mut_slice<std::byte>()->begin());
    const auto bytes = product(device, weights, rows);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  const auto expected = products(128);  // scale 1
  for (int exponent : {0, 1, 2, 3, 100, 127, 129, 200, 243, 244}) {
    const auto actual = products(exponent);
    for (size_t i = 0; i < expected.size(); ++i) {
      // With the smallest scales sums of some blocks are denormal, so the last bit may differ.
      const float scaled = std::ldexp(expected[i], exponent - 128);
      const float error = exponent < 4 ? 0x1p-149f * kDepth / 64 + std::abs(scaled) * 0x1p-23f : 0;
      ASSERT_NEAR(actual[i], scaled, error) << "scale 2^" << exponent - 128 << ", element " << i;
    }
  }
  // Beyond what floats hold there is infinity, but nothing that is no number.
  for (float value : products(255)) ASSERT_FALSE(std::isnan(value));
}

}  // namespace
}  // namespace mlxn::test
