// Ops on tensors whose elements and bytes cannot be counted in 32 bits, each of some 8 GiB.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "mlxn/core/device/open_device.h"
#include "mlxn/ops/index/embedding.h"
#include "mlxn/ops/index/gather.h"
#include "mlxn/ops/layout/copy.h"
#include "mlxn/ops/layout/slice.h"
#include "mlxn/ops/matmul/matmul.h"

namespace mlxn::test {
namespace {

class Huge : public testing::Test {
 protected:
  Huge() : device_(*open_device({.threads = 2})) {}

  Buffer alloc(Dtype dtype, const Shape& shape) {
    auto buffer = device_.alloc(dtype, shape);
    EXPECT_TRUE(buffer) << buffer.error().to_string();
    return *buffer;
  }
  Buffer indices(const std::vector<uint32_t>& values) {
    Buffer buffer = alloc(Dtype::kU32, {values.size()});
    std::ranges::copy(values, buffer.as_mut_slice<uint32_t>()->begin());
    return buffer;
  }
  template <class Encode>
  void run(const Encode& encode) {
    CommandEncoder encoder(device_);
    const Status encoded = encode(encoder);
    ASSERT_TRUE(encoded) << encoded.error().to_string();
    const Status done = encoder.commit_and_wait();
    ASSERT_TRUE(done) << done.error().to_string();
  }

  const Device device_;
};

constexpr uint64_t kDim = 64;
constexpr uint64_t kRows = (uint64_t{1} << 31) / kDim + 3;  // 2^31 elements and some

float number(uint64_t row, uint64_t column) {
  return static_cast<float>(row % 1000 * 100 + column + 1);
}

// Rows in front of and behind 4 GiB and 2^31 elements.
const std::vector<uint32_t> kSome = {
    0, (1u << 24) - 1, 1u << 24, (1u << 25) - 1, 1u << 25, static_cast<uint32_t>(kRows - 1)};

void fill_rows(Buffer& table) {
  float* values = table.as_mut_slice<float>()->data();
  for (const uint64_t row : kSome) {
    for (uint64_t i = 0; i < kDim; ++i) values[row * kDim + i] = number(row, i);
  }
}

void expect_rows(const Buffer& rows) {
  const auto values = *rows.as_slice<float>();
  for (size_t r = 0; r < kSome.size(); ++r) {
    for (uint64_t i = 0; i < kDim; ++i) {
      ASSERT_EQ(values[r * kDim + i], number(kSome[r], i)) << kSome[r] << " " << i;
    }
  }
}

TEST_F(Huge, RowsAreGathered) {
  Buffer table = alloc(Dtype::kF32, {kRows, kDim});
  fill_rows(table);
  const Buffer ids = indices(kSome), out = alloc(Dtype::kF32, {kSome.size(), kDim});
  run([&](ComputeEncoder& encoder) { return gather(encoder, {table, ids, out}); });
  expect_rows(out);
  const Buffer again = alloc(Dtype::kF32, {kSome.size(), kDim});
  run([&](ComputeEncoder& encoder) { return embedding(encoder, {table, ids, again}); });
  expect_rows(again);
}

TEST_F(Huge, RowsAreSet) {
  Buffer rows = alloc(Dtype::kF32, {kSome.size(), kDim});
  float* values = rows.as_mut_slice<float>()->data();
  for (size_t r = 0; r < kSome.size(); ++r) {
    for (uint64_t i = 0; i < kDim; ++i) values[r * kDim + i] = number(kSome[r], i);
  }
  const Buffer table = alloc(Dtype::kF32, {kRows, kDim}), ids = indices(kSome);
  run([&](ComputeEncoder& encoder) { return set_rows(encoder, {rows, ids, table}); });
  const float* stored = table.as_slice<float>()->data();
  for (const uint64_t row : kSome) {
    for (uint64_t i = 0; i < kDim; ++i) ASSERT_EQ(stored[row * kDim + i], number(row, i)) << row;
  }
  EXPECT_EQ(stored[(kRows - 2) * kDim], 0) << "a row that nobody named";
}

TEST_F(Huge, PartsAreCopied) {
  Buffer table = alloc(Dtype::kF32, {kRows, kDim});
  fill_rows(table);
  const Buffer tail = alloc(Dtype::kF32, {3, kDim});
  run([&](ComputeEncoder& encoder) {
    return slice(encoder, {.input = table, .output = tail, .axis = 0, .start = kRows - 3});
  });
  const auto values = *tail.as_slice<float>();
  for (uint64_t i = 0; i < kDim; ++i) {
    EXPECT_EQ(values[2 * kDim + i], number(kRows - 1, i));
    EXPECT_EQ(values[kDim + i], 0);
  }
}

// A product whose last weights lie behind 2^31 elements.
TEST_F(Huge, ProductsReachTheLastWeights) {
  constexpr uint64_t kDepth = 4096, kColumns = (uint64_t{1} << 31) / kDepth + 2;
  Buffer weights = alloc(Dtype::kF16, {kColumns, kDepth}), input = alloc(Dtype::kF32, {1, kDepth});
  auto last = weights.as_mut_slice<_Float16>()->subspan((kColumns - 1) * kDepth);
  std::ranges::fill(last, _Float16(0.5f));
  std::ranges::fill(*input.as_mut_slice<float>(), 1.0f);
  const Buffer output = alloc(Dtype::kF32, {1, kColumns});
  run([&](ComputeEncoder& encoder) {
    return matmul(encoder, {.weights = weights, .input = input, .output = output});
  });
  const auto values = *output.as_slice<float>();
  EXPECT_EQ(values[kColumns - 1], kDepth * 0.5f);
  EXPECT_EQ(values[kColumns - 2], 0);
  EXPECT_EQ(values[0], 0);
}

}  // namespace
}  // namespace mlxn::test
