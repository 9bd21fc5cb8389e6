// What a model file must be like, on small files that we write ourselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mlxn/model/evaluator.h"
#include "tests/model/tiny_model.h"

namespace mlxn::model {
namespace {

using ::testing::HasSubstr;

Result<std::shared_ptr<const Model>> load(const TinyModel& tiny, bool exact = false) {
  const io::TempFolder folder;
  RuntimeOptions options;
  options.auto_barrier = true;
  MLXN_ASSIGN(const Device device, Device::create(options));
  return Model::load(device, tiny.write(folder),
                     {.exact = exact});  // the file may go once it is mapped
}

std::vector<float> logits_of(const TinyModel& tiny, const std::vector<int32_t>& tokens) {
  const auto model = load(tiny);
  EXPECT_TRUE(model) << model.error().to_string();
  if (!model) return {};
  auto evaluator = Evaluator::create(*model);
  EXPECT_TRUE(evaluator) << evaluator.error().to_string();
  const auto logits = evaluator->append(0, tokens);
  EXPECT_TRUE(logits) << logits.error().to_string();
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

const std::vector<int32_t> kTokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 4};

TEST(ModelFile, ASmallModelIsEvaluated) {
  const std::vector<float> logits = logits_of(TinyModel(), kTokens);
  ASSERT_EQ(logits.size(), TinyModel::kVocabulary);
  EXPECT_TRUE(all_finite(logits));
}

// As files for benchmarks are.
TEST(ModelFile, AFileWithoutATokenizerSaysHowManyTokensThereAre) {
  TinyModel tiny;
  tiny.metadata.erase("tokenizer.ggml.tokens");
  const auto refused = load(tiny);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("'tokenizer.ggml.tokens' is missing"));
  tiny.metadata["llama.vocab_size"] = number(TinyModel::kVocabulary);
  EXPECT_EQ(logits_of(tiny, kTokens), logits_of(TinyModel(), kTokens));
}

// Rounded rows would take more dispatches and move the logits by more.
TEST(ModelFile, MatricesOfFloatsArePackedAndNothingIsRounded) {
  std::vector<float> logits[2];
  uint64_t dispatches[2];
  for (bool exact : {false, true}) {
    const auto model = load(TinyModel(), exact);
    ASSERT_TRUE(model) << model.error().to_string();
    const DeviceLimits& limits = (*model)->device().limits();
    const bool packs = !exact && limits.is_processor && limits.unified_memory;
    EXPECT_EQ((*model)->packed_bytes() > 0, packs);
    auto evaluator = Evaluator::create(*model, {.replay = false});
    ASSERT_TRUE(evaluator) << evaluator.error().to_string();
    const auto result = evaluator->append(0, kTokens);
    ASSERT_TRUE(result) << result.error().to_string();
    logits[exact].assign(result->begin(), result->end());
    dispatches[exact] = evaluator->stats().dispatches;
  }
  EXPECT_EQ(dispatches[false], dispatches[true]);
  for (size_t i = 0; i < logits[true].size(); ++i)
    EXPECT_NEAR(logits[false][i], logits[true][i], 1e-5) << "token " << i;
}

// Everything that the file may say must have an effect.
TEST(ModelFile, OptionalPartsChangeTheLogits) {
  const std::vector<float> plain = logits_of(TinyModel(), kTokens);
  const auto expect_other = [&](const char* what, const TinyModel& tiny) {
    const std::vector<float> logits = logits_of(tiny, kTokens);
    EXPECT_TRUE(all_finite(logits)) << what;
    EXPECT_NE(logits, plain) << what;
  };
  TinyModel tied;
  tied.tensors.erase("output.weight");
  expect_other("tied embedding", tied);
  TinyModel window;
  window.metadata["llama.attention.sliding_window"] = number(4);
  expect_other("sliding window", window);
  TinyModel base;
  base.metadata["llama.rope.freq_base"] = real(500000);
  expect_other("base of rope", base);
  TinyModel scaled;
  scaled.metadata["llama.rope.scaling.type"] = words("linear");
  scaled.metadata["llama.rope.scaling.factor"] = real(4);
  expect_other("linear scaling", scaled);
  TinyModel factors;
  factors.tensors["rope_freqs.weight"] = {0, {TinyModel::kHeadDim / 2}};
  expect_other("frequency factors", factors);
  TinyModel partial;
  partial.metadata["llama.rope.dimension_count"] = number(16);
  expect_other("fewer rotary dimensions", partial);
}

struct Fault {
  const char* what;
  std::function<void(TinyModel&)> make;
  ErrorCode code;
  const char* message;
};

TEST(ModelFile, FaultsAreToldWithNamesAndNumbers) {
  const Fault faults[] = {
      {"other architecture",
       [](TinyModel& m) { m.metadata["general.architecture"] = words("mamba"); },
       ErrorCode::kUnsupported,
       "architecture 'mamba' is not there yet, expected one of: llama, qwen2, qwen3"},
      {"no architecture", [](TinyModel& m) { m.metadata.erase("general.architecture"); },
       ErrorCode::kCorruptData, "general.architecture"},
      {"missing hyperparameter", [](TinyModel& m) { m.metadata.erase("llama.block_count"); },
       ErrorCode::kCorruptData, "llama.block_count"},
      {"no layers", [](TinyModel& m) { m.metadata["llama.block_count"] = number(0); },
       ErrorCode::kCorruptData, "metadata 'llama.block_count' is 0, expected 1 to 4096"},
      {"text for a number", [](TinyModel& m) { m.metadata["llama.block_count"] = words("two"); },
       ErrorCode::kCorruptData, "llama.block_count"},
      {"no heads", [](TinyModel& m) { m.metadata["llama.attention.head_count"] = number(0); },
       ErrorCode::kCorruptData, "metadata 'llama.attention.head_count' is 0"},
      {"odd key heads",
       [](TinyModel& m) { m.metadata["llama.attention.head_count_kv"] = number(3); },
       ErrorCode::kCorruptData, "2 heads for 3 key heads"},
      {"more layers than tensors",
       [](TinyModel& m) { m.metadata["llama.block_count"] = number(3); }, ErrorCode::kCorruptData,
       "the model has no tensor 'blk.2.attn_norm.weight'"},
      {"missing tensor", [](TinyModel& m) { m.tensors.erase("blk.1.ffn_up.weight"); },
       ErrorCode::kCorruptData, "the model has no tensor 'blk.1.ffn_up.weight'"},
      {"other shape", [](TinyModel& m) { m.tensors["blk.0.attn_q.weight"].dims = {64, 65}; },
       ErrorCode::kCorruptData,
       "tensor 'blk.0.attn_q.weight' has shape [65, 64], expected [64, 64]"},
      {"type without kernels", [](TinyModel& m) { m.tensors["blk.0.attn_q.weight"].type = 40; },
       ErrorCode::kUnsupported,
       "tensor 'blk.0.attn_q.weight' has type nvfp4 (40), which no kernel can read"},
      {"unknown tensor", [](TinyModel& m) { m.tensors["blk.0.attn_q.bias"] = {0, {64}}; },
       ErrorCode::kUnsupported,
       "1 tensors that this architecture does not know, the first is 'blk.0.attn_q.bias'"},
      {"unknown scaling",
       [](TinyModel& m) { m.metadata["llama.rope.scaling.type"] = words("yarn"); },
       ErrorCode::kUnsupported, "position scaling 'yarn', expected none or linear"},
      {"experts", [](TinyModel& m) { m.metadata["llama.expert_count"] = number(8); },
       ErrorCode::kUnsupported, "a mixture of 8 experts, expected none"},
  };
  for (const Fault& fault : faults) {
    TinyModel tiny;
    fault.make(tiny);
    const auto model = load(tiny);
    ASSERT_FALSE(model) << fault.what;
    EXPECT_EQ(model.error().code(), fault.code) << fault.what << ": " << model.error().to_string();
    EXPECT_THAT(model.error().to_string(), HasSubstr(fault.message)) << fault.what;
    EXPECT_THAT(model.error().to_string(), HasSubstr("tiny.gguf")) << fault.what;
  }
}

TEST(ModelFile, AMissingFileIsNamedOnce) {
  RuntimeOptions options;
  options.auto_barrier = true;
  const Device device = *Device::create(options);
  for (const char* path : {"nowhere/none.gguf", "."}) {
    const auto model = Model::load(device, path);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code(), ErrorCode::kIo);
    const std::string& text = model.error().message();
    EXPECT_EQ(text.find(path), 0u) << text;
    EXPECT_EQ(text.find(path + std::string(":"), 1), std::string::npos) << text;
  }
}

TEST(ModelFile, WeightsOfATypeThatOpsRefuseAreAnErrorOfThePass) {
  TinyModel tiny;
  tiny.tensors["blk.0.attn_q.weight"].type = 26;  // i32
  const auto model = load(tiny);
  ASSERT_TRUE(model) << model.error().to_string();
  auto evaluator = Evaluator::create(*model);
  ASSERT_TRUE(evaluator);
  const auto logits = evaluator->append(0, kTokens);
  ASSERT_FALSE(logits);
  EXPECT_THAT(logits.error().to_string(), HasSubstr("i32"));
  EXPECT_TRUE(evaluator->tokens(0).empty());
}

TEST(ModelFile, AContextThatMemoryCannotHoldIsRefused) {
  const auto model = load(TinyModel());
  ASSERT_TRUE(model) << model.error().to_string();
  // Four buffers (keys and values of two layers), each of a third of what there is.
  const uint64_t most = (*model)->device().limits().recommended_working_set;
  const auto evaluator =
      Evaluator::create(*model, {.context = most / 3 / (TinyModel::kHeadDim * 2)});
  ASSERT_FALSE(evaluator);
  EXPECT_EQ(evaluator.error().code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(evaluator.error().message(), HasSubstr("a KV cache of"));
}

TEST(ModelFile, ADeviceThatOrdersNothingIsRefused) {
  const io::TempFolder folder;
  const Result<Device> device = Device::create(RuntimeOptions());
  ASSERT_TRUE(device);
  const auto model = Model::load(*device, TinyModel().write(folder));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlxn::model
