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

Result<Evaluator> open_small(std::string_view architecture, const EvaluatorOptions& options,
                             bool exact = true) {
  MLXN_ASSIGN(const Device device, open_device());
  MLXN_ASSIGN(const auto model,
              Model::load(device, file_of(architecture, ".gguf"), {.exact = exact}));
  return Evaluator::create(model, options);
}

// Matrices in block formats are packed unless asked for exact products; the bound on rounded ones
// is loose.
void expect_near_reference(bool exact, double most) {
  for (const ArchitectureEntry* entry : architectures()) {
    ReferenceReader reader(file_of(entry->name, ".bin"));
    const ReferenceLogits expected(reader);
    ASSERT_EQ(expected.logits.size(), expected.tokens.size() * expected.width) << entry->name;
    auto evaluator = open_small(entry->name, {.outputs = 64, .cache = Dtype::kF32}, exact);
    ASSERT_TRUE(evaluator) << entry->name << ": " << evaluator.error().to_string();
    uint64_t seen = 0;
    const Status status =
        evaluator->append_each(0, expected.tokens, [&](uint64_t i, std::span<const float> logits) {
          ASSERT_EQ(logits.size(), expected.width);
          EXPECT_LE(nmse(logits, expected.row(i)), most) << entry->name << " at " << i;
          ++seen;
        });
    ASSERT_TRUE(status) << status.error().to_string();
    EXPECT_EQ(seen, expected.tokens.size());
  }
}

TEST(ModelArchitectures, EveryOneAgreesWithNumpyAtEveryPosition) {
  expect_near_reference(true, 1e-10);
}

TEST(ModelArchitectures, EveryOneIsNearNumpyWithRoundedRows) {
  expect_near_reference(false, 1e-2);
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
