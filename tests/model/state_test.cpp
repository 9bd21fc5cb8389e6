// States that are no KV cache: an architecture brings its own, and the evaluator knows none.
#include "mlxn/model/state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "mlxn/core/device/open_device.h"
#include "mlxn/model/blocks/kv_cache.h"
#include "mlxn/model/evaluator.h"
#include "mlxn/ops/elementwise/elementwise.h"
#include "mlxn/ops/index/embedding.h"
#include "tests/model/tiny_model.h"

namespace mlxn::model {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kWidth = 4;

// The sum of all rows that came so far: there is no way back but to the beginning.
class SumState final : public State {
 public:
  explicit SumState(Buffer buffer) : sum(std::move(buffer)) {}
  uint64_t byte_len() const override { return sum.byte_len(); }
  uint64_t truncate(uint32_t, uint64_t known, uint64_t length) override {
    if (known == length) return length;
    std::memset(sum.contents(), 0, sum.byte_len());
    return 0;
  }
  Buffer sum;
};

// Logits are the sum of the embeddings of all tokens (recurrent), or the token's own (not).
class Toy : public Architecture {
 public:
  Toy(Buffer table, bool recurrent)
      : table_(std::move(table)), recurrent_(recurrent), shape_{1, kWidth, 64} {}

  const ModelShape& shape() const override { return shape_; }
  Result<std::unique_ptr<State>> create_state(const Device& device,
                                              const StateOptions&) const override {
    if (!recurrent_) return std::unique_ptr<State>(std::make_unique<NoState>());
    MLXN_ASSIGN(Buffer sum, device.alloc(Dtype::kF32, {kWidth}));
    return std::unique_ptr<State>(std::make_unique<SumState>(std::move(sum)));
  }
  Status encode(const ForwardPass& pass) const override {
    const uint64_t tokens = pass.tokens.element_count();
    MLXN_ASSIGN(const Buffer x, pass.temporary({tokens, kWidth}));
    MLXN_TRY(embedding(pass.encoder, {.table = table_, .ids = pass.tokens, .output = x}));
    for (uint64_t i = 0; recurrent_ && i < tokens; ++i) {
      const Buffer& sum = static_cast<SumState&>(pass.state).sum;
      MLXN_ASSIGN(const Buffer row, x.slice_view(i * kWidth * sizeof(float), kWidth));
      MLXN_TRY(elementwise_add(pass.encoder, {sum, row, sum}));
      MLXN_TRY(elementwise_add(pass.encoder, {row, sum, row}));  // row = row + sum
    }
    if (pass.outputs.element_count() == 0) return {};
    return embedding(pass.encoder, {.table = x, .ids = pass.outputs, .output = pass.logits});
  }

  static Result<std::unique_ptr<Architecture>> create(Weights& weights, bool recurrent) {
    MLXN_ASSIGN(Buffer table, weights.tensor("table", {kWidth, kWidth}));
    return std::unique_ptr<Architecture>(std::make_unique<Toy>(std::move(table), recurrent));
  }

 private:
  Buffer table_;
  bool recurrent_;
  ModelShape shape_;
};

constexpr ArchitectureEntry kSum = {"sum", [](Weights& w) { return Toy::create(w, true); }};
constexpr ArchitectureEntry kBag = {"bag", [](Weights& w) { return Toy::create(w, false); }};
constexpr const ArchitectureEntry* kToys[] = {&kSum, &kBag};

// Token i adds 10^i to element i.
std::string write_toy(const io::TempFolder& folder, const char* architecture) {
  io::GgufWriter writer;
  EXPECT_TRUE(writer.add("general.architecture", words(architecture)));
  std::vector<float> table(kWidth * kWidth);
  for (uint32_t i = 0; i < kWidth; ++i) table[i * kWidth + i] = 1;
  EXPECT_TRUE(writer.add_tensor("table", 0, {kWidth, kWidth}, std::as_bytes(std::span(table))));
  std::string path = folder.path("toy.gguf");
  EXPECT_TRUE(writer.write(path));
  return path;
}

Result<Evaluator> open_toy(const char* architecture) {
  const io::TempFolder folder;
  MLXN_ASSIGN(const Device device, open_device());
  MLXN_ASSIGN(const auto model,
              Model::load(device, write_toy(folder, architecture), {.architectures = kToys}));
  return Evaluator::create(model, {.chunk = 12});
}

std::vector<float> append(Evaluator& evaluator, const std::vector<int32_t>& tokens) {
  const auto logits = evaluator.append(0, tokens);
  EXPECT_TRUE(logits) << logits.error().to_string();
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

using Row = std::vector<float>;

TEST(ModelFileState, ARecurrentStateGoesOnFromPassToPass) {
  auto evaluator = open_toy("sum");
  ASSERT_TRUE(evaluator) << evaluator.error().to_string();
  EXPECT_EQ(evaluator->state_bytes(), kWidth * sizeof(float));
  EXPECT_EQ(append(*evaluator, {0}), (Row{2, 0, 0, 0}));
  EXPECT_EQ(append(*evaluator, {1}), (Row{1, 2, 0, 0}));
  EXPECT_EQ(append(*evaluator, {0, 0, 2}), (Row{3, 1, 2, 0}));
  const std::vector<int32_t> many(30, 3);  // three passes
  EXPECT_EQ(append(*evaluator, many), (Row{3, 1, 1, 31}));
}

TEST(ModelFileState, WithoutAWayBackASequenceBeginsAnew) {
  auto evaluator = open_toy("sum");
  ASSERT_TRUE(evaluator) << evaluator.error().to_string();
  append(*evaluator, {0, 1, 2});
  EXPECT_EQ(*evaluator->truncate(0, 3), 3u);
  EXPECT_EQ(evaluator->keep_prefix(0, std::vector<int32_t>{0, 1, 2, 3}), 3u);
  EXPECT_EQ(evaluator->keep_prefix(0, std::vector<int32_t>{0, 1, 3, 3}), 0u);
  EXPECT_TRUE(evaluator->tokens(0).empty());
  EXPECT_EQ(append(*evaluator, {1}), (Row{0, 2, 0, 0}));
}

TEST(ModelFileState, ACancelledPassIsTakenBackOrTheSequenceBeginsAnew) {
  auto evaluator = open_toy("sum");
  ASSERT_TRUE(evaluator) << evaluator.error().to_string();
  append(*evaluator, {0});
  int asked = 0;
  const auto ended = evaluator->append(0, std::vector<int32_t>(30, 1),
                                       {.cancelled = [&] { return ++asked == 3; }});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kCancelled);
  EXPECT_TRUE(evaluator->tokens(0).empty());
  EXPECT_EQ(append(*evaluator, {1}), (Row{0, 2, 0, 0}));
}

TEST(ModelFileState, AnArchitectureMayKeepNothing) {
  auto evaluator = open_toy("bag");
  ASSERT_TRUE(evaluator) << evaluator.error().to_string();
  EXPECT_EQ(evaluator->state_bytes(), 0u);
  EXPECT_EQ(append(*evaluator, {0, 1, 2}), (Row{0, 0, 1, 0}));
  EXPECT_EQ(append(*evaluator, {3}), (Row{0, 0, 0, 1}));
  EXPECT_EQ(*evaluator->truncate(0, 1), 1u);
}

TEST(ModelFileState, LayersOfAKvCacheMayDiffer) {
  const Result<Device> device = open_device();
  ASSERT_TRUE(device);
  const auto made = KvCache::create(*device, {{1, 32}, {2, 64}},
                                    {.context = 40, .sequences = 3, .cache = Dtype::kF32});
  ASSERT_TRUE(made) << made.error().to_string();
  const auto& cache = static_cast<const KvCache&>(**made);
  EXPECT_EQ(cache.keys(0).shape().to_string(), "[3, 1, 64, 32]");
  EXPECT_EQ(cache.values(1).shape().to_string(), "[3, 2, 64, 64]");
  EXPECT_EQ(cache.byte_len(), 4u * 3 * 64 * (32 + 2 * 64) * 2);
  const auto refused = KvCache::create(*device, {{1, 32}}, {.context = 1, .cache = Dtype::kBf16});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("KV cache of bf16, expected f16, f32 or q8_0"));
  const auto codes =
      KvCache::create(*device, {{1, 32}}, {.context = 40, .sequences = 3, .cache = Dtype::kQ8_0});
  ASSERT_TRUE(codes) << codes.error().to_string();
  EXPECT_EQ((*codes)->byte_len(), 34u * 3 * 64 * 2);
  const auto odd = KvCache::create(*device, {{1, 80}}, {.context = 1, .cache = Dtype::kQ8_0});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().message(),
            "a KV cache of q8_0 for heads of 80 elements, expected a multiple of 32");
}

}  // namespace
}  // namespace mlxn::model
