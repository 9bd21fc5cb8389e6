// The whole chain of attention over codes: keys and values are encoded, the query is rotated,
// attends, and its result is turned back; then it is near attention over what was encoded.
#include <algorithm>
#include <cmath>
#include <random>

#include "mlxn/base/strings.h"
#include "mlxn/ops/turboquant/hadamard.h"
#include "mlxn/ops/turboquant/tq_attention.h"
#include "mlxn/ops/turboquant/tq_decode.h"
#include "mlxn/ops/turboquant/tq_encode.h"
#include "tests/ops/ops_fixture.h"

namespace mlxn::test {
namespace {

using enum Dtype;
constexpr uint64_t kHeads = 4, kKvHeads = 2, kTokens = 90, kCapacity = 64;

struct Codec {
  uint32_t bits;
  uint64_t dim;
  HadamardSigns before() const { return dim < 256 ? HadamardSigns::kNone : HadamardSigns::kBefore; }
  HadamardSigns after() const { return dim < 256 ? HadamardSigns::kNone : HadamardSigns::kAfter; }
};

class TurboQuant : public testing::TestWithParam<std::tuple<uint32_t, uint64_t>> {
 protected:
  Codec codec() const { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }

  Buffer made(Dtype dtype, const Shape& shape) { return *device_.alloc(dtype, shape); }
  Buffer normal(const Shape& shape) {
    Buffer buffer = made(kF32, shape);
    std::normal_distribution<float> distribution;
    for (float& value : *buffer.as_mut_slice<float>()) value = distribution(generator_);
    return buffer;
  }
  Buffer codes() {
    return made(kU8, {kKvHeads, kCapacity, codec().dim / (codec().bits == 4 ? 2 : 1)});
  }
  Buffer norms() { return made(kF32, {kKvHeads, kCapacity, codec().dim == 512 ? 2u : 1u}); }

  // The last tokens of a prompt, around the ring.
  Status encode(ComputeEncoder& encoder, const Buffer& input, const Buffer& to, const Buffer& of) {
    return tq_encode(encoder, {.input = input,
                               .codes = to,
                               .norms = of,
                               .bits = codec().bits,
                               .position = kTokens - kCapacity,
                               .first_token = kTokens - kCapacity,
                               .ring = true});
  }

  const Device& device_ = op_devices().back()->device;
  std::mt19937_64 generator_{11};
};
INSTANTIATE_TEST_SUITE_P(Codecs, TurboQuant,
                         testing::Combine(testing::Values(4u, 5u, 6u, 8u),
                                          testing::Values(64u, 128u, 256u, 512u)));

// Root of the mean squared error of a code for each unit of variance.
double error_of(uint32_t bits) {
  return bits == 4 ? 0.0975 : bits == 5 ? 0.0501 : bits == 6 ? 0.0255 : 0.0080;
}

std::vector<double> attention(const Buffer& queries, const Buffer& keys, const Buffer& values,
                              uint64_t dim) {
  const auto q = *queries.as_slice<float>(), k = *keys.as_slice<float>(),
             v = *values.as_slice<float>();
  std::vector<double> out(q.size());
  for (uint64_t h = 0; h < kHeads; ++h) {
    std::vector<double> weights;
    const auto row = [&](uint64_t t) { return (t * kKvHeads + h / (kHeads / kKvHeads)) * dim; };
    double total = 0;
    for (uint64_t t = kTokens - kCapacity; t < kTokens; ++t) {
      double score = 0;
      for (uint64_t d = 0; d < dim; ++d) score += double(q[h * dim + d]) * double(k[row(t) + d]);
      total += weights.emplace_back(std::exp(score / std::sqrt(double(dim))));
    }
    for (uint64_t t = kTokens - kCapacity; t < kTokens; ++t) {
      for (uint64_t d = 0; d < dim; ++d) {
        out[h * dim + d] += weights[t - (kTokens - kCapacity)] / total * double(v[row(t) + d]);
      }
    }
  }
  return out;
}

TEST_P(TurboQuant, IsNearAttention) {
  const uint64_t dim = codec().dim;
  const Buffer queries = normal({kHeads, dim}), turned = made(kF32, {kHeads, dim}),
               keys = normal({kTokens, kKvHeads, dim}), values = normal({kTokens, kKvHeads, dim}),
               key_codes = codes(), key_norms = norms(), value_codes = codes(),
               value_norms = norms(), output = made(kF32, {kHeads, dim});
  CommandEncoder encoder(device_);
  ASSERT_TRUE(encode(encoder, keys, key_codes, key_norms));
  ASSERT_TRUE(encode(encoder, values, value_codes, value_norms));
  ASSERT_TRUE(hadamard(encoder, {queries, turned, codec().before()}));
  ASSERT_TRUE(encoder.memory_barrier());
  ASSERT_TRUE(tq_attention(encoder, {.queries = turned,
                                     .key_codes = key_codes,
                                     .key_norms = key_norms,
                                     .value_codes = value_codes,
                                     .value_norms = value_norms,
                                     .output = output,
                                     .bits = codec().bits,
                                     .ring_start = kTokens % kCapacity}));
  ASSERT_TRUE(encoder.memory_barrier());
  ASSERT_TRUE(hadamard(encoder, {output, output, codec().after()}));
  ASSERT_TRUE(encoder.commit_and_wait());
  const std::vector<double> expected = attention(queries, keys, values, dim);
  const auto got = *output.as_slice<float>();
  double error = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (double(got[i]) - expected[i]) * (double(got[i]) - expected[i]);
    size += expected[i] * expected[i];
  }
  // Values are off by a code's error, and weights by that of scores of unit variance.
  EXPECT_LT(std::sqrt(error / size), 2.5 * error_of(codec().bits));
  EXPECT_GT(std::sqrt(error / size), 0.1 * error_of(codec().bits)) << "codes were not used";
}

TEST_P(TurboQuant, ThereAndBack) {
  const uint64_t dim = codec().dim;
  const Buffer input = normal({kCapacity, kKvHeads, dim}), to = codes(), of = norms(),
               turned = made(kF32, {kCapacity, kKvHeads, dim});
  CommandEncoder encoder(device_);
  ASSERT_TRUE(tq_encode(encoder, {.input = input, .codes = to, .norms = of, .bits = codec().bits}));
  ASSERT_TRUE(encoder.memory_barrier());
  ASSERT_TRUE(
      tq_decode(encoder, {.codes = to, .norms = of, .output = turned, .bits = codec().bits}));
  ASSERT_TRUE(encoder.memory_barrier());
  ASSERT_TRUE(hadamard(encoder, {turned, turned, codec().after()}));
  ASSERT_TRUE(encoder.commit_and_wait());
  const auto x = *input.as_slice<float>(), y = *turned.as_slice<float>();
  double error = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (double(x[i]) - double(y[i])) * (double(x[i]) - double(y[i]));
    size += double(x[i]) * double(x[i]);
  }
  EXPECT_LT(std::sqrt(error / size), 1.12 * error_of(codec().bits));
  EXPECT_GT(std::sqrt(error / size), 0.87 * error_of(codec().bits));
}

}  // namespace
}  // namespace mlxn::test
