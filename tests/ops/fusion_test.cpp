// Fusion rules: a fused graph has the bits of the graph as it was recorded.
#include <algorithm>
#include <numeric>
#include <random>

#include "mlxn/base/strings.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/ops/activation/silu_mul.h"
#include "mlxn/ops/attention/attention.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/fusion_rules.h"
#include "mlxn/ops/kv/kv_write.h"
#include "mlxn/ops/matmul/matmul.h"
#include "mlxn/ops/matmul/quantise_rows.h"
#include "mlxn/ops/norm/rms_norm.h"
#include "mlxn/ops/rope/rope.h"
#include "mlxn/testing/op_case.h"
#include "mlxn/testing/stored_values.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

using enum Dtype;
using Counts = std::vector<std::pair<std::string, size_t>>;

class Fusion : public testing::Test {
 protected:
  Buffer random(Dtype dtype, const Shape& shape) {
    Buffer buffer = *device_.alloc(dtype, shape);
    std::vector<double> values(buffer.element_count());
    std::uniform_real_distribution<double> distribution(-1, 1);
    for (double& value : values) value = distribution(generator_);
    const Status stored = cases::store(dtype, values, *buffer.as_mut_slice<std::byte>());
    EXPECT_TRUE(stored) << stored.error().to_string();
    all_.push_back(buffer);
    return buffer;
  }

  // first, first + 1, ...
  Buffer counting(const Shape& shape, uint32_t first) {
    Buffer buffer = *device_.alloc(kU32, shape);
    const auto numbers = *buffer.as_mut_slice<uint32_t>();
    std::iota(numbers.begin(), numbers.end(), first);
    all_.push_back(buffer);
    return buffer;
  }

  template <class Encode>
  Graph record(const Encode& encode) {
    CommandEncoder encoder(device_);
    encoder.start_capture();
    const Status encoded = encode(encoder);
    EXPECT_TRUE(encoded) << encoded.error().to_string();
    return Graph(*encoder.take_capture());
  }

  // Bytes of all buffers but the temporary ones, after a run that began with `before`.
  std::vector<std::vector<std::byte>> run(const Graph& graph,
                                          const std::vector<std::vector<std::byte>>& before) {
    std::vector<std::vector<std::byte>> after;
    for (size_t i = 0; i < all_.size(); ++i) {
      std::ranges::copy(before[i], all_[i].as_mut_slice<std::byte>()->begin());
    }
    CommandEncoder encoder(device_);
    const auto encoded = graph.encode(encoder);
    EXPECT_TRUE(encoded) << encoded.error().to_string();
    EXPECT_TRUE(encoder.commit_and_wait());
    for (const Buffer& buffer : all_) {
      const auto bytes = *buffer.as_slice<std::byte>();
      const bool seen = std::ranges::none_of(
          temporary_, [&](const Buffer& one) { return one.contents() == buffer.contents(); });
      after.emplace_back();
      if (seen) after.back().assign(bytes.begin(), bytes.end());
    }
    return after;
  }

  // Fuses; the graph then has this many dispatches and the same effect.
  Counts expect_same(Graph graph, size_t dispatches) {
    for (const Buffer& buffer : temporary_) graph.mark_temporary(buffer);
    std::vector<std::vector<std::byte>> before;
    for (const Buffer& buffer : all_) {
      const auto bytes = *buffer.as_slice<std::byte>();
      before.emplace_back(bytes.begin(), bytes.end());
    }
    const auto plain = run(graph, before);
    const auto stats = graph.fuse(fusion_rules(), device_);
    EXPECT_TRUE(stats) << stats.error().to_string();
    EXPECT_EQ(graph.dispatch_count(), dispatches);
    EXPECT_EQ(run(graph, before) == plain, true) << "fusion changes the bits";
    Counts counts;
    for (const auto& [rule, count] : stats->rules) {
      if (count > 0) counts.emplace_back(rule, count);
    }
    return counts;
  }

  const Device& device_ = op_devices().back()->device;
  std::mt19937_64 generator_{23};
  std::vector<Buffer> all_, temporary_;
};

TEST_F(Fusion, AddAndNormKeepTheSum) {
  for (const Dtype dtype : cases::kFloats) {
    for (const Shape& shape : {Shape{1, 1}, {3, 33}, {2, 576}, {1, 2816}}) {
      all_.clear();
      const Buffer a = random(dtype, shape), b = random(dtype, shape), sum = random(dtype, shape),
                   normed = random(dtype, shape),
                   weight = random(dtype == kF16 ? kF32 : dtype, {shape[1]});
      const auto pair = [&](const Buffer& to, const Buffer& out) {
        return record([&](ComputeEncoder& encoder) -> Status {
          MLXN_TRY(elementwise_add(encoder, {a, b, to}));
          return rms_norm(encoder, {to, weight, out});
        });
      };
      const Counts once = {{"add + rms_norm", 1}};
      EXPECT_EQ(expect_same(pair(sum, normed), 1), once) << shape.to_string();
      EXPECT_EQ(expect_same(pair(a, normed), 1), once) << shape.to_string();
      EXPECT_EQ(expect_same(pair(a, b), 1), once) << "as layers do";
    }
  }
}

TEST_F(Fusion, AddAndNormThatDoNotFit) {
  const Shape shape = {2, 64};
  const Buffer a = random(kF32, shape), b = random(kF32, shape), sum = random(kF32, shape),
               weight = random(kF32, {64}), normed = random(kF32, shape);
  const auto pair = [&](const Buffer& added, const Buffer& in, const Buffer& w, const Buffer& out) {
    return record([&](ComputeEncoder& encoder) -> Status {
      MLXN_TRY(elementwise_add(encoder, {a, b, added}));
      return rms_norm(encoder, {in, w, out});
    });
  };
  EXPECT_EQ(expect_same(pair(sum, a, weight, normed), 2), Counts()) << "the norm of something else";
  EXPECT_EQ(expect_same(pair(sum, sum, weight, sum), 2), Counts()) << "the sum does not stay";
  const Buffer part = *sum.slice_view(0, 64)->reshape({1, 64});
  const Buffer part_out = *normed.slice_view(0, 64)->reshape({1, 64});
  EXPECT_EQ(expect_same(pair(sum, part, weight, part_out), 2), Counts()) << "a part of the sum";
  const Buffer row = *sum.slice_view(256, 64);
  EXPECT_EQ(expect_same(pair(sum, sum, row, normed), 2), Counts()) << "the sum is the weight too";
}

class ProductFusion : public Fusion, public testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Formats, ProductFusion, testing::ValuesIn(kWeightFormats),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(ProductFusion, TwoProductsAndTheirActivation) {
  const uint64_t block = info(GetParam()).block_elements, depth = block > 1 ? 2 * block + 512 : 700;
  for (const uint64_t rows : {1u, 3u, 8u, 11u}) {
    all_.clear();
    const Buffer wg = random(GetParam(), {7, depth}), wu = random(GetParam(), {7, depth});
    const Buffer x = random(kF32, {rows, depth}), other = random(kF32, {rows, 7});
    const Buffer gate = random(kF32, {rows, 7}), up = random(kF32, {rows, 7});
    temporary_ = {up};
    const auto fused = expect_same(record([&](ComputeEncoder& encoder) -> Status {
                                     MLXN_TRY(matmul(encoder, {wg, x, gate}));
                                     MLXN_TRY(elementwise_add(encoder, {other, other, other}));
                                     MLXN_TRY(matmul(encoder, {wu, x, up}));
                                     return silu_mul(encoder, {gate, up, gate});
                                   }),
                                   2);
    EXPECT_EQ(fused, (Counts{{"matmul x 2 + silu_mul", 1}})) << rows;
  }
}

TEST_F(Fusion, ProductsThatDoNotFit) {
  const Buffer wg = random(kQ8_0, {64, 64}), wu = random(kQ8_0, {64, 64}),
               wf = random(kF16, {64, 64}), x = random(kF32, {2, 64}), y = random(kF32, {2, 64}),
               gate = random(kF32, {2, 64}), up = random(kF32, {2, 64}),
               out = random(kF32, {2, 64});
  const auto three = [&](const Buffer& other_weights, const Buffer& other_input, const Buffer& g,
                         const Buffer& u, const Buffer& to) {
    return record([&](ComputeEncoder& encoder) -> Status {
      MLXN_TRY(matmul(encoder, {wg, x, gate}));
      MLXN_TRY(matmul(encoder, {other_weights, other_input, up}));
      return silu_mul(encoder, {g, u, to});
    });
  };
  EXPECT_EQ(expect_same(three(wu, x, gate, up, out), 3), Counts()) << "both products are wanted";
  temporary_ = {gate, up};
  EXPECT_EQ(expect_same(three(wu, x, gate, up, out), 1).size(), 1u);
  EXPECT_EQ(expect_same(three(wf, x, gate, up, out), 3), Counts()) << "two formats";
  EXPECT_EQ(expect_same(three(wu, y, gate, up, out), 3), Counts()) << "two inputs";
  EXPECT_EQ(expect_same(three(wu, x, gate, gate, out), 3), Counts()) << "one product twice";
  EXPECT_EQ(expect_same(three(wu, x, up, gate, out), 1).size(), 1u) << "the other way round";
  EXPECT_EQ(expect_same(three(wu, x, gate, up, x), 3), Counts()) << "in place of the input";
  EXPECT_EQ(expect_same(three(wu, gate, gate, up, out), 3), Counts()) << "one behind the other";
  const Buffer wide = random(kF32, {2, 65}), late = *wide.slice_view(0, 128)->reshape({2, 64});
  EXPECT_EQ(expect_same(record([&](ComputeEncoder& encoder) -> Status {
                          MLXN_TRY(matmul(encoder, {wg, x, gate}));
                          MLXN_TRY(matmul(encoder, {wu, x, up}));
                          MLXN_TRY(silu_mul(encoder, {gate, up, out}));
                          return elementwise_add(encoder, {up, out, late});
                        }),
                        4),
            Counts())
      << "read later";
}

TEST_F(Fusion, NormsAndActivationsAreRoundedAsTheyAreMade) {
  for (const uint64_t rows : {1u, 3u, 8u, 16u, 21u}) {
    for (const uint64_t dim : {32u, 96u, 576u}) {
      all_.clear();
      const Shape shape = {rows, dim}, rounded_as = *rounded_shape(rows, dim);
      const Buffer a = random(kF32, shape), b = random(kF32, shape), weight = random(kF32, {dim}),
                   normed = random(kF32, shape), rounded = random(kI32, rounded_as);
      temporary_ = {normed};
      const auto norm = record([&](ComputeEncoder& encoder) -> Status {
        MLXN_TRY(rms_norm(encoder, {a, weight, normed}));
        return quantise_rows(encoder, {normed, rounded});
      });
      EXPECT_EQ(expect_same(norm, 1), (Counts{{"rms_norm + quantise_rows", 1}})) << rows;
      const auto add = record([&](ComputeEncoder& encoder) -> Status {
        MLXN_TRY(elementwise_add(encoder, {a, b, a}));
        MLXN_TRY(rms_norm(encoder, {a, weight, normed}));
        return quantise_rows(encoder, {normed, rounded});
      });
      EXPECT_EQ(expect_same(add, 1),
                (Counts{{"add + rms_norm", 1}, {"rms_norm + quantise_rows", 1}}))
          << rows;
      const auto activation = record([&](ComputeEncoder& encoder) -> Status {
        MLXN_TRY(silu_mul(encoder, {a, b, normed}));
        return quantise_rows(encoder, {normed, rounded});
      });
      EXPECT_EQ(expect_same(activation, 1), (Counts{{"silu_mul + quantise_rows", 1}})) << rows;
    }
  }
}

TEST_F(Fusion, AttentionIsRoundedAsItIsMade) {
  for (const uint64_t tokens : {1u, 3u, 7u, 21u}) {
    for (const uint64_t dim : {64u, 80u, 96u}) {
      for (const auto& [cache, rounded] : {std::pair(kF16, true), {kF16, false}, {kQ8_0, true}}) {
        if (dim % info(cache).block_elements != 0) continue;
        all_.clear();
        const Buffer given = random(kF32, {tokens, 6, dim}),
                     queries = random(kF32, {tokens, 6, dim}),
                     keys = random(cache, {3, 2, 64, dim}), values = random(cache, {3, 2, 64, dim}),
                     positions = counting({tokens}, 20), sequences = counting({tokens}, 0),
                     rows = *queries.reshape({tokens, 6 * dim}),
                     codes = random(kI32, *rounded_shape(tokens, 6 * dim));
        const auto graph = record([&](ComputeEncoder& encoder) -> Status {
          MLXN_TRY(elementwise_add(encoder, {given, given, queries}));
          MLXN_TRY(attention(encoder, {.queries = queries,
                                       .key_cache = keys,
                                       .value_cache = values,
                                       .positions = positions,
                                       .sequences = sequences,
                                       .output = queries,
                                       .window = 9,
                                       .rounded = rounded}));
          return quantise_rows(encoder, {rows, codes});
        });
        temporary_ = {};
        EXPECT_EQ(expect_same(graph, 3), Counts()) << "the results are wanted too";
        temporary_ = {queries};
        const bool fits = rounded && dim % 32 == 0;
        EXPECT_EQ(expect_same(graph, fits ? 2 : 3),
                  fits ? (Counts{{"attention + quantise_rows", 1}}) : Counts())
            << tokens << " tokens, heads of " << dim;
      }
    }
  }
}

TEST_F(Fusion, RoundingThatDoesNotFit) {
  const Shape shape = {4, 64}, half = {2, 64};
  const Buffer a = random(kF32, shape), b = random(kF32, shape), weight = random(kF32, {64}),
               normed = random(kF32, shape), rounded = random(kI32, *rounded_shape(4, 64)),
               less = random(kI32, *rounded_shape(2, 64));
  const auto pair = [&](const Buffer& from, const Buffer& to) {
    return record([&](ComputeEncoder& encoder) -> Status {
      MLXN_TRY(rms_norm(encoder, {a, weight, normed}));
      return quantise_rows(encoder, {from, to});
    });
  };
  EXPECT_EQ(expect_same(pair(normed, rounded), 2), Counts()) << "the norm is wanted too";
  temporary_ = {normed};
  EXPECT_EQ(expect_same(pair(normed, rounded), 1).size(), 1u);
  EXPECT_EQ(expect_same(pair(b, rounded), 2), Counts()) << "something else is rounded";
  const Buffer part = *normed.slice_view(256, 128)->reshape(half);
  EXPECT_EQ(expect_same(pair(part, less), 2), Counts()) << "a part of the norm is rounded";
  const Buffer wide = *normed.reshape({2, 128});
  const Buffer other = random(kI32, *rounded_shape(2, 128));
  EXPECT_EQ(expect_same(pair(wide, other), 2), Counts()) << "in rows of another width";
}

TEST_F(Fusion, KeysAreTurnedAsTheyAreWritten) {
  for (const RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    for (const Dtype dtype : {kF16, kF32}) {
      for (const uint64_t dim : {64u, 80u, 160u}) {
        all_.clear();
        const Buffer keys = random(kF32, {3, 2, dim}), values = random(kF32, {3, 2, dim}),
                     other = random(kF32, {3, 2, dim}), table = random(kF32, {3, dim / 2 - 4, 2}),
                     positions = counting({3}, 30), sequences = counting({3}, 0),
                     key_cache = random(dtype, {2, 2, 64, dim}),
                     value_cache = random(dtype, {2, 2, 64, dim});
        const auto write = [&](const Buffer& turned, const Buffer& written) {
          return record([&](ComputeEncoder& encoder) -> Status {
            MLXN_TRY(elementwise_add(encoder, {values, values, keys}));
            MLXN_TRY(rope(encoder, {keys, table, turned, pairs}));
            return kv_write(encoder,
                            {written, values, positions, sequences, key_cache, value_cache});
          });
        };
        const Counts once = {{"rope + kv_write", 1}};
        temporary_ = {};
        EXPECT_EQ(expect_same(write(keys, keys), 3), Counts()) << "keys are wanted too";
        temporary_ = {keys, other};
        EXPECT_EQ(expect_same(write(keys, keys), 2), once) << dim;
        EXPECT_EQ(expect_same(write(other, other), 2), once) << dim;
        EXPECT_EQ(expect_same(write(other, values), 3), Counts()) << "other keys";
      }
    }
  }
}

// A layer of a model, twice: norms join the additions before them.
TEST_F(Fusion, LayersOfAModel) {
  const Buffer x = random(kF32, {1, 64}), normed = random(kF32, {1, 64}),
               gate = random(kF32, {1, 96}), up = random(kF32, {1, 96}),
               weight = random(kF32, {64}), wo = random(kQ4_0, {64, 64}),
               wg = random(kQ4_0, {96, 64}), wu = random(kQ4_0, {96, 64}),
               wd = random(kQ4_0, {64, 96}), mixed = random(kF32, {1, 64});
  temporary_ = {normed, gate, up, mixed};
  const Graph graph = record([&](ComputeEncoder& encoder) -> Status {
    for (int layer = 0; layer < 2; ++layer) {
      MLXN_TRY(rms_norm(encoder, {x, weight, normed}));
      MLXN_TRY(matmul(encoder, {wo, normed, mixed}));
      MLXN_TRY(elementwise_add(encoder, {x, mixed, x}));
      MLXN_TRY(rms_norm(encoder, {x, weight, normed}));
      MLXN_TRY(matmul(encoder, {wg, normed, gate}));
      MLXN_TRY(matmul(encoder, {wu, normed, up}));
      MLXN_TRY(silu_mul(encoder, {gate, up, gate}));
      MLXN_TRY(matmul(encoder, {wd, gate, normed}));
      MLXN_TRY(elementwise_add(encoder, {x, normed, x}));
    }
    return {};
  });
  EXPECT_EQ(graph.dispatch_count(), 18u);
  EXPECT_EQ(expect_same(graph, 11), (Counts{{"matmul x 2 + silu_mul", 2}, {"add + rms_norm", 3}}));
}

}  // namespace
}  // namespace mlxn::test
