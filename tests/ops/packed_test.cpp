// What models rely on in products of packed weights: a row has the same bits alone and among any
// number of others, with any number of workers.
#include <algorithm>
#include <random>

#include "mlxn/base/strings.h"
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

// The product of some rows: rounded, then multiplied.
std::vector<std::byte> product(const Device& device, const PackedWeights& weights,
                               const Buffer& rows) {
  const uint64_t count = rows.shape()[0];
  const Buffer rounded = *device.alloc(Dtype::kI32, *rounded_shape(count, weights.depth));
  const Buffer output = *device.alloc(Dtype::kF32, {count, weights.rows});
  CommandEncoder encoder(device);
  EXPECT_TRUE(quantise_rows(encoder, {rows, rounded}));
  EXPECT_TRUE(encoder.memory_barrier());
  const Status encoded = packed_matmul(encoder, {weights, rounded, output});
  EXPECT_TRUE(encoded) << encoded.error().to_string();
  EXPECT_TRUE(encoder.commit_and_wait());
  const auto bytes = *output.as_slice<std::byte>();
  return {bytes.begin(), bytes.end()};
}

TEST(PackedProducts, RowsDoNotKnowEachOther) {
  constexpr uint64_t kRows = 37;
  for (Dtype format : kWeightFormats) {
    if (!quant::can_pack(format)) continue;
    const uint64_t depth = info(format).block_elements == 256 ? 768 : 416;
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

}  // namespace
}  // namespace mlxn::test
