// Ops that promise the bits of another call: attention in pieces and with a map of its mask,
// products of experts and of the same weights alone.
#include <algorithm>
#include <functional>
#include <random>

#include "mlxn/base/strings.h"
#include "mlxn/ops/attention/attention_blocks.h"
#include "mlxn/ops/attention/attention_mask.h"
#include "mlxn/ops/attention/sdpa.h"
#include "mlxn/ops/matmul/batched_matmul.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/matmul/matmul_id.h"
#include "mlxn/testing/stored_values.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

using enum Dtype;
using Bytes = std::vector<std::byte>;

class SameBits : public testing::Test {
 protected:
  Buffer made(Dtype dtype, const Shape& shape) { return *device_.alloc(dtype, shape); }

  Buffer random(Dtype dtype, const Shape& shape, double low = -2, double high = 2) {
    Buffer buffer = made(dtype, shape);
    std::vector<double> values(buffer.element_count());
    std::uniform_real_distribution<double> distribution(low, high);
    for (double& value : values) value = distribution(generator_);
    EXPECT_TRUE(cases::store(dtype, values, *buffer.as_mut_slice<std::byte>()));
    return buffer;
  }

  // Runs it, then reads the output.
  Bytes run(const Buffer& output, const std::function<Status(ComputeEncoder&)>& encode) {
    CommandEncoder encoder(device_);
    const Status encoded = encode(encoder);
    EXPECT_TRUE(encoded) << encoded.error().to_string();
    EXPECT_TRUE(encoder.commit_and_wait());
    const auto bytes = *output.as_slice<std::byte>();
    return {bytes.begin(), bytes.end()};
  }

  const Device& device_ = op_devices().back()->device;
  std::mt19937_64 generator_{5};
};

TEST_F(SameBits, AttentionWithBlocksAndWithout) {
  for (const uint64_t window : {0u, 20u, 64u, 100u}) {
    for (const Dtype type : {kF32, kBf16, kBool}) {
      const uint64_t rows = 300, keys = 330;
      const Buffer queries = random(kF32, {1, 4, rows, 32}), key = random(kF16, {1, 2, keys, 32}),
                   value = random(kF16, {1, 2, keys, 32}), plain = made(kF32, {1, 4, rows, 32}),
                   mapped = made(kF32, {1, 4, rows, 32}), mask = made(type, {rows, keys}),
                   blocks = made(kU8, {10, 11});
      const auto attend = [&](const Buffer& output, const Buffer* map) {
        return run(output, [&](ComputeEncoder& encoder) -> Status {
          MLXN_TRY(attention_mask(encoder, {.mask = mask, .offset = 25, .window = window}));
          MLXN_TRY(encoder.memory_barrier());
          MLXN_TRY(attention_blocks(encoder, {mask, blocks}));
          MLXN_TRY(encoder.memory_barrier());
          return sdpa(encoder, {.queries = queries,
                                .keys = key,
                                .values = value,
                                .output = output,
                                .mask = &mask,
                                .blocks = map});
        });
      };
      EXPECT_EQ(attend(plain, nullptr) == attend(mapped, &blocks), true)
          << to_string(type) << ", window " << window;
    }
  }
}

// A chunk of queries at the end has the bits of the same queries among all.
TEST_F(SameBits, AttentionResumed) {
  for (const uint64_t keys : {64u, 130u, 48u}) {
    const uint64_t dim = 64, room = 192;
    const Buffer key = random(kBf16, {1, 2, room, dim}), value = random(kBf16, {1, 2, room, dim}),
                 queries = random(kBf16, {1, keys, 6, dim}), whole = made(kBf16, {1, keys, 6, dim});
    const auto attend = [&](const Buffer& input, const Buffer& output, uint64_t offset) {
      return run(output, [&](ComputeEncoder& encoder) {
        return sdpa(encoder, {.queries = input,
                              .keys = key,
                              .values = value,
                              .output = output,
                              .length = keys,
                              .query_layout = SdpaLayout::kSequenceFirst,
                              .causal = true,
                              .offset = offset});
      });
    };
    const Bytes all = attend(queries, whole, 0);
    for (const uint64_t rows : {2u, 8u, 15u, 32u, 40u}) {
      const uint64_t row = 6 * dim, first = keys - rows;
      const Buffer part =
          *queries.slice_view(first * row * 2, rows * row)->reshape({1, rows, 6, dim});
      const Bytes got = attend(part, made(kBf16, {1, rows, 6, dim}), first);
      EXPECT_EQ(std::equal(got.begin(), got.end(), all.end() - static_cast<ptrdiff_t>(got.size())),
                true)
          << rows << " of " << keys;
    }
  }
}

// matmul, batched_matmul and matmul_id, one row after the other and many at once.
TEST_F(SameBits, ProductsOfAllKinds) {
  for (const Dtype format : kWeightFormats) {
    const uint64_t block = info(format).block_elements, k = block > 1 ? 3 * block : 600, n = 7;
    const uint64_t tokens = 13, slots = 2, experts = 3;
    const Buffer weights = random(format, {experts, n, k}), x = random(kF32, {tokens, k}),
                 ids = made(kU32, {tokens, slots}), scratch = made(kU32, {tokens, slots}),
                 routed = made(kF32, {tokens, slots, n}), one = made(kF32, {1, tokens, n});
    const auto id = *ids.as_slice<uint32_t>();
    Buffer fill = ids;
    for (uint32_t& i : *fill.as_mut_slice<uint32_t>()) i = static_cast<uint32_t>(generator_() % 3);
    const auto route = [&](const Buffer* order) {
      return run(routed, [&](ComputeEncoder& encoder) {
        return matmul_id(encoder, {weights, x, ids, routed, nullptr, nullptr, order});
      });
    };
    const Bytes ordered = route(&scratch);
    EXPECT_EQ(ordered == route(nullptr), true) << to_string(format);
    for (uint64_t e = 0; e < experts; ++e) {
      const uint64_t bytes = *size_bytes(format, n * k);
      const Buffer slab = *weights.slice_view(e * bytes, n * k), flat = *slab.reshape({n, k}),
                   cube = *slab.reshape({1, n, k});
      const Bytes alone =
          run(one, [&](ComputeEncoder& encoder) { return matmul(encoder, {flat, x, one}); });
      const Bytes batched = run(one, [&](ComputeEncoder& encoder) {
        return batched_matmul(encoder, {cube, *x.reshape({1, tokens, k}), one});
      });
      EXPECT_EQ(alone == batched, true) << to_string(format);
      for (uint64_t r = 0; r < tokens * slots; ++r) {
        if (id[r] != e) continue;
        const auto row = static_cast<ptrdiff_t>(n * 4);
        EXPECT_EQ(std::equal(ordered.begin() + static_cast<ptrdiff_t>(r) * row,
                             ordered.begin() + static_cast<ptrdiff_t>(r + 1) * row,
                             alone.begin() + static_cast<ptrdiff_t>(r / slots) * row),
                  true)
            << to_string(format) << ", row " << r;
      }
    }
  }
}

TEST_F(SameBits, HeadsFirstAndRowsFirst) {
  const uint64_t heads = 4, rows = 9, dim = 64, n = 5;
  for (const Dtype format : {kQ4_0, kQ6_K, kBf16}) {
    const Buffer weights = random(format, {1, n, heads * dim}),
                 first = random(kBf16, {1, heads, rows, dim}),
                 turned = made(kBf16, {1, rows, heads * dim}), a = made(kF32, {1, rows, n}),
                 b = made(kF32, {1, rows, n});
    const auto from = *first.as_slice<uint16_t>();
    Buffer to = turned;
    for (uint64_t i = 0; i < from.size(); ++i) {
      const uint64_t h = i / dim / rows, r = i / dim % rows;
      (*to.as_mut_slice<uint16_t>())[(r * heads + h) * dim + i % dim] = from[i];
    }
    const Bytes heads_first = run(a, [&](ComputeEncoder& encoder) {
      return batched_matmul(encoder,
                            {.weights = weights, .input = first, .output = a, .heads_first = true});
    });
    const Bytes rows_first = run(b, [&](ComputeEncoder& encoder) {
      return batched_matmul(encoder, {.weights = weights, .input = turned, .output = b});
    });
    EXPECT_EQ(heads_first == rows_first, true) << to_string(format);
  }
}

}  // namespace
}  // namespace mlxn::test
