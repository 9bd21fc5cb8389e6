// Every architecture against numpy, on small random models.
#include "mlxn/model/architecture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mlxn/core/device/open_device.h"
#include "mlxn/model/evaluator.h"
#include "tests/model/reference_file.h"

namespace mlxn::model {
namespace {

std::string file_of(std::string_view architecture, const char* suffix) {
  return variable("MLXN_TEST_SMALL_MODELS") + "/" + std::string(architecture) + suffix;
}

Result<Evaluator> open_small(std::string_view architecture, const EvaluatorOptions& options) {
  MLXN_ASSIGN(const Device device, open_device());
  MLXN_ASSIGN(const auto model, Model::load(device, file_of(architecture, ".gguf")));
  return Evaluator::create(model, options);
}

TEST(ModelArchitectures, EveryOneAgreesWithNumpyAtEveryPosition) {
  for (const ArchitectureEntry* entry : architectures()) {
    ReferenceReader reader(file_of(entry->name, ".bin"));
    const ReferenceLogits expected(reader);
    ASSERT_EQ(expected.logits.size(), expected.tokens.size() * expected.width) << entry->name;
    auto evaluator = open_small(entry->name, {.outputs = 64, .cache = Dtype::kF32});
    ASSERT_TRUE(evaluator) << entry->name << ": " << evaluator.error().to_string();
    uint64_t seen = 0;
    const Status status =
        evaluator->append_each(0, expected.tokens, [&](uint64_t i, std::span<const float> logits) {
          ASSERT_EQ(logits.size(), expected.width);
          EXPECT_LE(nmse(logits, expected.row(i)), 1e-10) << entry->name << " at " << i;
          ++seen;
        });
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(seen, expected.tokens.size());
  }
}

// As a prompt and then token by token, as graphs and as the architecture encodes them.
TEST(ModelArchitectures, ReplayedGraphsHaveTheSameBits) {
  for (const ArchitectureEntry* entry : architectures()) {
    ReferenceReader reader(file_of(entry->name, ".bin"));
    const ReferenceLogits text(reader);
    const auto run = [&](bool replay) {
      auto evaluator = open_small(entry->name, {.chunk = 16, .replay = replay});
      EXPECT_TRUE(evaluator);
      std::vector<float> all;
      for (size_t at = 0; at < text.tokens.size(); at += at == 0 ? 36 : 1) {
        const auto part = std::span(text.tokens).subspan(at, at == 0 ? 36 : 1);
        const auto logits = evaluator->append(0, part);
        EXPECT_TRUE(logits) << logits.error().to_string();
        if (logits) all.insert(all.end(), logits->begin(), logits->end());
      }
      return all;
    };
    const std::vector<float> encoded = run(false);
    EXPECT_EQ(encoded.size(), 10 * text.width);
    EXPECT_TRUE(std::ranges::equal(run(true), encoded)) << entry->name;
  }
}

TEST(ModelArchitectures, TheTableHasAnEntryForEachFile) {
  std::vector<std::string_view> names;
  for (const ArchitectureEntry* entry : architectures()) names.push_back(entry->name);
  EXPECT_THAT(names, testing::ElementsAre("llama", "qwen2", "qwen3"));
}

}  // namespace
}  // namespace mlxn::model
