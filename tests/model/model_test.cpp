// A real model against an independent reference, and against itself under every way to run it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <Metal/Metal.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mlxn/metal_extensions.hpp>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/io/cut_file_guard.h"
#include "mlxn/model/evaluator.h"
#include "mlxn/model/generator.h"
#include "tests/model/reference_file.h"

namespace mlxn::model {
namespace {

// What reference.py wrote.
struct Reference {
  std::vector<int32_t> text;
  size_t width = 0;
  std::vector<float> logits;  // a row for each token of the text
  struct Answer {
    std::vector<int32_t> prompt, tokens;
  };
  std::vector<Answer> answers;
};

const Reference& reference() {
  static const Reference loaded = [] {
    ReferenceReader reader(variable("MLXN_TEST_REFERENCE"));
    ReferenceLogits logits(reader);
    Reference r = {std::move(logits.tokens), logits.width, std::move(logits.logits), {}};
    for (int32_t i = reader.number(); i > 0; --i) {
      auto prompt = reader.list();
      r.answers.push_back({std::move(prompt), reader.list()});
    }
    return r;
  }();
  return loaded;
}

// Products of the file's own weights, with nothing rounded, or of packed weights and rounded rows.
enum class Products { kExact, kRounded };

std::shared_ptr<const Model> load(const Device& device, Products products = Products::kExact) {
  auto model =
      Model::load(device, variable("MLXN_TEST_MODEL"), {.exact = products == Products::kExact});
  EXPECT_TRUE(model) << model.error().to_string();
  return model ? *model : nullptr;
}

std::shared_ptr<const Model> load(const RuntimeOptions& runtime,
                                  Products products = Products::kExact) {
  const Result<Device> device = Device::create(runtime);
  EXPECT_TRUE(device) << device.error().to_string();
  return device ? load(*device, products) : nullptr;
}

RuntimeOptions concurrent() {
  RuntimeOptions options;
  options.auto_barrier = true;
  return options;
}

const std::shared_ptr<const Model>& shared_model(Products products = Products::kExact) {
  static const std::shared_ptr<const Model> exact = load(concurrent()),
                                            rounded = load(concurrent(), Products::kRounded);
  return products == Products::kExact ? exact : rounded;
}

Evaluator make(const std::shared_ptr<const Model>& model, EvaluatorOptions options = {}) {
  if (options.context == 0) options.context = 256;
  auto evaluator = Evaluator::create(model, options);
  EXPECT_TRUE(evaluator) << evaluator.error().to_string();
  return std::move(*evaluator);
}

std::vector<float> logits_after(Evaluator& evaluator, std::span<const int32_t> tokens,
                                uint32_t sequence = 0) {
  auto logits = evaluator.append(sequence, tokens);
  EXPECT_TRUE(logits) << logits.error().to_string();
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int32_t best(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

// Prompt in one pass, then some tokens one by one; the logits of each step, one after the other.
std::vector<float> trace(const std::shared_ptr<const Model>& model, const EvaluatorOptions& options,
                         size_t steps = 6) {
  Evaluator evaluator = make(model, options);
  const auto& text = reference().text;
  std::vector<float> all = logits_after(evaluator, std::span(text).first(20));
  for (size_t i = 20; i < 20 + steps; ++i) {
    const std::vector<float> next = logits_after(evaluator, std::span(&text[i], 1));
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

// The worst NMSE of all positions.
double worst_error(const std::shared_ptr<const Model>& model) {
  const Reference& r = reference();
  EXPECT_GE(r.text.size(), 64u);
  EXPECT_EQ(r.logits.size(), r.text.size() * r.width);
  Evaluator evaluator = make(model, {.chunk = 256, .outputs = 256, .cache = Dtype::kF32});
  double worst = 0;
  uint64_t seen = 0;
  const Status status =
      evaluator.append_each(0, r.text, [&](uint64_t i, std::span<const float> logits) {
        ASSERT_EQ(logits.size(), r.width);
        const double error = nmse(logits, std::span(r.logits).subspan(i * r.width, r.width));
        worst = std::max(worst, error);
        ++seen;
      });
  EXPECT_TRUE(status) << status.error().to_string();
  EXPECT_EQ(seen, r.text.size());
  testing::Test::RecordProperty("worst_nmse", str(worst));
  std::printf("worst NMSE of %zu positions: %.3g\n", r.text.size(), worst);
  return worst;
}

TEST(ModelReference, LogitsAgreeAtEveryPosition) {
  EXPECT_LE(worst_error(shared_model()), 1e-6);
}

// Rows rounded to 8 bits by 32 elements have an NMSE of about 3e-5 in each of 211 products.
TEST(ModelReference, RoundedLogitsAreNear) {
  EXPECT_LE(worst_error(shared_model(Products::kRounded)), 8e-2);
}

TEST(ModelReference, GreedyAnswersAgreeTokenForToken) {
  ASSERT_GE(reference().answers.size(), 10u);
  Evaluator evaluator = make(shared_model(), {.cache = Dtype::kF32});
  for (const auto& [prompt, expected] : reference().answers) {
    ASSERT_EQ(expected.size(), 32u);
    ASSERT_TRUE(evaluator.truncate(0, 0));
    std::vector<float> logits = logits_after(evaluator, prompt);
    std::vector<int32_t> answer;
    while (answer.size() < expected.size()) {
      answer.push_back(best(logits));
      logits = logits_after(evaluator, std::span(&answer.back(), 1));
    }
    EXPECT_EQ(answer, expected);
  }
}

// A device of its own: the default one keeps the workers it was made with.
std::vector<float> trace_with_workers(uint32_t workers, Products products) {
  metal::DeviceOptions options;
  options.executor = "cpu";
  options.worker_count = workers;
  NS::Error* error = nullptr;
  const auto device = NS::TransferPtr(metal::create_device(options, &error));
  EXPECT_TRUE(device);
  EXPECT_EQ(metal::describe_device(device.get()).worker_count, workers);
  return trace(load(*Device::wrap(device.get(), concurrent()), products), {});
}

class ModelIdentity : public testing::TestWithParam<Products> {};
INSTANTIATE_TEST_SUITE_P(All, ModelIdentity, testing::Values(Products::kExact, Products::kRounded),
                         [](const auto& info) {
                           return info.param == Products::kExact ? "exact" : "rounded";
                         });

TEST_P(ModelIdentity, NumberOfWorkersMakesNoDifference) {
  const std::vector<float> alone = trace_with_workers(1, GetParam());
  ASSERT_FALSE(alone.empty());
  EXPECT_TRUE(same_bits(trace_with_workers(2, GetParam()), alone));
  EXPECT_TRUE(same_bits(trace_with_workers(3, GetParam()), alone));
}

TEST_P(ModelIdentity, SerialConcurrentAndReplayedAreTheSame) {
  RuntimeOptions serial;
  serial.serial_dispatch = true;
  const std::vector<float> expected = trace(load(serial, GetParam()), {.replay = false});
  EXPECT_TRUE(same_bits(trace(shared_model(GetParam()), {.replay = false}), expected))
      << "concurrent";
  EXPECT_TRUE(same_bits(trace(shared_model(GetParam()), {.replay = true}), expected)) << "replayed";
}

TEST_P(ModelIdentity, ASequenceInABatchIsTheSameAsAlone) {
  const auto& answers = reference().answers;
  constexpr uint32_t kSequences = 5;
  Evaluator batch = make(shared_model(GetParam()), {.sequences = kSequences});
  std::vector<SequenceToken> next;
  for (uint32_t s = 0; s < kSequences; ++s) {
    logits_after(batch, answers[s].prompt, s);
    next.push_back({s, answers[s].tokens[0]});
  }
  auto logits = batch.step(next);
  ASSERT_TRUE(logits) << logits.error().to_string();
  const std::vector<float> together(logits->begin(), logits->end());
  for (uint32_t s = 0; s < kSequences; ++s) {
    Evaluator alone = make(shared_model(GetParam()));
    logits_after(alone, answers[s].prompt);
    const std::vector<float> expected = logits_after(alone, std::span(answers[s].tokens).first(1));
    const auto begin = together.begin() + static_cast<std::ptrdiff_t>(s * expected.size());
    EXPECT_TRUE(same_bits({begin, begin + static_cast<std::ptrdiff_t>(expected.size())}, expected))
        << "sequence " << s;
  }
}

TEST_P(ModelIdentity, ChunksOfThePromptMakeNoDifference) {
  const auto& text = reference().text;
  Evaluator whole = make(shared_model(GetParam()));
  const std::vector<float> expected = logits_after(whole, text);
  for (uint32_t chunk : {1u, 7u, 64u}) {
    Evaluator evaluator = make(shared_model(GetParam()), {.chunk = chunk});
    EXPECT_LE(nmse(logits_after(evaluator, text), expected), 1e-9) << "chunks of " << chunk;
  }
}

TEST(ModelSequence, PrefixIsReusedWithTheSameResult) {
  const auto& text = reference().text;
  Evaluator fresh = make(shared_model());
  const std::vector<float> expected = logits_after(fresh, std::span(text).first(30));
  Evaluator evaluator = make(shared_model());
  std::vector<int32_t> other(text.begin(), text.begin() + 20);
  other.insert(other.end(), 12, 5);
  logits_after(evaluator, other);
  EXPECT_EQ(evaluator.keep_prefix(0, std::span(text).first(30)), 20u);
  const std::vector<float> logits = logits_after(evaluator, std::span(text).subspan(20, 10));
  EXPECT_LE(nmse(logits, expected), 1e-9);
  // The same text again: all but its last token is there.
  EXPECT_EQ(evaluator.keep_prefix(0, std::span(text).first(30)), 29u);
}

TEST(ModelSequence, FullContextIsAClearError) {
  Evaluator evaluator = make(shared_model(), {.context = 16});
  const std::vector<int32_t> tokens(17, 1);
  auto logits = evaluator.append(0, tokens);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code(), ErrorCode::kOutOfRange);
  EXPECT_NE(logits.error().message().find("0 tokens and 17 more, expected at most 16"),
            std::string::npos)
      << logits.error().message();
  EXPECT_TRUE(evaluator.tokens(0).empty());
  logits_after(evaluator, std::span(tokens).first(16));
  EXPECT_FALSE(evaluator.append(0, std::span(tokens).first(1)));
}

TEST(ModelSequence, WrongTokensAndSequencesAreRefused) {
  Evaluator evaluator = make(shared_model());
  for (int32_t token : {-1, 49152, 1 << 30}) {
    EXPECT_FALSE(evaluator.append(0, std::span(&token, 1))) << token;
  }
  const int32_t fine = 5;
  EXPECT_FALSE(evaluator.append(1, std::span(&fine, 1)));
  EXPECT_FALSE(evaluator.append(0, {}));
  EXPECT_FALSE(evaluator.truncate(0, 1));
}

TEST(ModelMemory, AFileThatIsCutIsAnErrorAndNoCrash) {
  const std::filesystem::path copy =
      std::filesystem::temp_directory_path() / str("mlxn-cut-", getpid(), ".gguf");
  ASSERT_TRUE(std::filesystem::copy_file(variable("MLXN_TEST_MODEL"), copy));
  io::survive_cut_files();
  const Result<Device> device = Device::create(concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  const auto model = Model::load(*device, copy, {.exact = true});
  ASSERT_TRUE(model) << model.error().to_string();
  Evaluator evaluator = make(*model);
  const int32_t token = 5;
  logits_after(evaluator, std::span(&token, 1));
  std::filesystem::resize_file(copy, 1 << 20);
  const auto logits = evaluator.append(0, std::span(&token, 1));
  std::filesystem::remove(copy);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code(), ErrorCode::kIo);
  EXPECT_NE(logits.error().message().find("it was cut"), std::string::npos)
      << logits.error().message();
  EXPECT_EQ(evaluator.tokens(0).size(), 1u);
}

TEST(ModelMemory, UploadedWeightsGiveTheSameBits) {
  const Result<Device> device = Device::create(concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  uint64_t last = 0, all = 0;
  const auto model = Model::load(*device, variable("MLXN_TEST_MODEL"),
                                 {.copy = true, .progress = [&](uint64_t done, uint64_t total) {
                                    EXPECT_GT(done, last);
                                    EXPECT_LE(done - last, uint64_t{16} << 20);
                                    last = done;
                                    all = total;
                                  }});
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ((*model)->mapped_bytes(), 0u);
  EXPECT_EQ((*model)->copied_bytes(), shared_model()->mapped_bytes());
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, shared_model()->mapped_bytes());
  EXPECT_TRUE(same_bits(trace(*model, {}), trace(shared_model(), {})));
}

TEST(ModelMemory, WhatADeviceCannotMapIsUploaded) {
  NS::Error* error = nullptr;
  const auto metal_device = NS::TransferPtr(metal::create_device({}, &error));
  const Result<Device> device = Device::wrap(metal_device.get(), concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  metal::inject_fault(metal_device.get(), metal::Fault::kAllocation);
  const auto model = load(*device);
  ASSERT_TRUE(model);
  EXPECT_GT(model->copied_bytes(), 0u);
  EXPECT_EQ(model->copied_bytes() + model->mapped_bytes(), shared_model()->mapped_bytes());
}

TEST(ModelMemory, ADeviceWithMemoryOfItsOwnGetsAllWeights) {
  metal::DeviceOptions options;
  options.executor = "discrete";
  NS::Error* error = nullptr;
  const auto metal_device = NS::TransferPtr(metal::create_device(options, &error));
  const Result<Device> device = Device::wrap(metal_device.get(), concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  const auto model = load(*device);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->mapped_bytes(), 0u);
  EXPECT_EQ(model->copied_bytes(), shared_model()->mapped_bytes() + shared_model()->copied_bytes());
  EXPECT_TRUE(same_bits(trace(model, {}), trace(shared_model(), {})));
}

TEST(ModelMemory, WeightsAreUsedWhereTheyLie) {
  EXPECT_EQ(shared_model()->copied_bytes(), 0u);
  EXPECT_GT(shared_model()->mapped_bytes(), uint64_t{90} << 20);
}

// One allocation holds all matrices; the table of embeddings stays where it lies as well.
TEST(ModelMemory, MatricesArePackedOnAProcessor) {
  const auto& model = shared_model(Products::kRounded);
  EXPECT_EQ(model->copied_bytes(), 0u);
  EXPECT_GT(model->packed_bytes(), uint64_t{90} << 20);
  EXPECT_LT(model->mapped_bytes(), uint64_t{32} << 20);
  EXPECT_EQ(shared_model()->packed_bytes(), 0u);
}

TEST(ModelMemory, WithoutRoomForPackedWeightsStoredOnesAreUsed) {
  NS::Error* error = nullptr;
  const auto metal_device = NS::TransferPtr(metal::create_device({}, &error));
  const Result<Device> device = Device::wrap(metal_device.get(), concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  std::string logged;
  set_log_handler([&](LogLevel, std::string_view message) { logged += message; });
  metal::inject_fault(metal_device.get(), metal::Fault::kAllocation,
                      2);  // behind embeddings and norm
  const auto model = load(*device, Products::kRounded);
  set_log_handler({});
  ASSERT_TRUE(model);
  EXPECT_NE(logged.find("weights are used as they are stored, which is slower: "),
            std::string::npos)
      << logged;
  EXPECT_EQ(model->packed_bytes(), 0u);
  EXPECT_TRUE(same_bits(trace(model, {}), trace(shared_model(), {})));
}

TEST(ModelMemory, PackingTellsOfItsProgress) {
  const Result<Device> device = Device::create(concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  uint64_t last = 0, all = 0;
  const auto model = Model::load(*device, variable("MLXN_TEST_MODEL"),
                                 {.progress = [&](uint64_t done, uint64_t total) {
                                   EXPECT_GT(done, last);
                                   EXPECT_LE(done, total);
                                   last = done;
                                   all = total;
                                 }});
  ASSERT_TRUE(model) << model.error().to_string();
  EXPECT_EQ(last, all);
}

TEST(ModelPasses, APassOverManyTokensEndsBetweenLayersWhenCancelled) {
  const std::vector<int32_t> tokens(40, 7);
  Evaluator whole = make(shared_model());
  const std::vector<float> expected = logits_after(whole, tokens);

  Evaluator evaluator = make(shared_model());
  int asked = 0;
  const auto ended = evaluator.append(0, tokens, {.cancelled = [&] { return ++asked == 3; }});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kCancelled) << ended.error().to_string();
  EXPECT_EQ(asked, 3);  // before the pass and behind two layers
  EXPECT_TRUE(evaluator.tokens(0).empty());

  asked = 0;
  const auto logits = evaluator.append(0, tokens, {.cancelled = [&] { return ++asked == 0; }});
  ASSERT_TRUE(logits) << logits.error().to_string();
  EXPECT_EQ(asked, static_cast<int>(shared_model()->shape().layers));
  EXPECT_TRUE(std::ranges::equal(*logits, expected));
}

// Passes are encoded while others run, and each finds its own tokens.
TEST(ModelPasses, APromptInManyPassesIsToldAsItGoes) {
  const auto& text = reference().text;
  std::vector<float> expected;
  for (uint32_t chunk : {9u, 16u}) {
    for (const bool watched : {false, true}) {
      Evaluator evaluator = make(shared_model(), {.chunk = chunk});
      std::vector<uint64_t> told;
      AppendEvents events = {.progress = [&](uint64_t done, uint64_t total) {
        EXPECT_EQ(total, text.size());
        told.push_back(done);
      }};
      if (watched) events.cancelled = [] { return false; };
      const auto logits = evaluator.append(0, text, events);
      ASSERT_TRUE(logits) << logits.error().to_string();
      EXPECT_EQ(told.size(), (text.size() + chunk - 1) / chunk - 1);  // two at the end are one
      EXPECT_TRUE(std::ranges::is_sorted(told));
      EXPECT_EQ(told.back(), text.size());
      EXPECT_EQ(evaluator.tokens(0).size(), text.size());
      if (expected.empty()) expected.assign(logits->begin(), logits->end());
      EXPECT_TRUE(std::ranges::equal(*logits, expected)) << "chunks of " << chunk;
    }
  }
}

TEST(ModelPasses, WhatWholePassesHaveReadStaysWhenCancelled) {
  const std::vector<int32_t> tokens(48, 7);
  Evaluator evaluator = make(shared_model(), {.chunk = 16});
  const int layers = static_cast<int>(shared_model()->shape().layers);
  int asked = 0;  // in the middle of the third pass
  const auto ended =
      evaluator.append(0, tokens, {.cancelled = [&] { return ++asked == 2 * layers + 5; }});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(evaluator.tokens(0).size(), 32u);
  Evaluator whole = make(shared_model(), {.chunk = 16});
  const std::vector<float> expected = logits_after(whole, tokens);
  EXPECT_TRUE(same_bits(logits_after(evaluator, std::span(tokens).subspan(32)), expected));
}

TEST(ModelPasses, OneCommandBufferForAToken) {
  Evaluator evaluator = make(shared_model());
  const int32_t token = 7;
  logits_after(evaluator, std::span(&token, 1));  // records the pass
  const Counters before = shared_model()->device().counters();
  for (int i = 0; i < 3; ++i) logits_after(evaluator, std::span(&token, 1));
  const Counters counted = shared_model()->device().counters() - before;
  EXPECT_EQ(counted.command_buffers, 3u);
  EXPECT_EQ(counted.dispatches, 0u) << "replayed, not encoded";
  EXPECT_EQ(evaluator.stats().passes, 4u);
}

TEST(ModelPasses, FusionTakesMoreThanEightyDispatchesAway) {
  const auto dispatches = [](bool replay) {
    Evaluator evaluator = make(shared_model(), {.replay = replay});
    const int32_t token = 7;
    logits_after(evaluator, std::span(&token, 1));
    return evaluator.stats().dispatches;
  };
  const uint64_t fused = dispatches(true);
  EXPECT_LT(fused, 400u);
  EXPECT_GT(dispatches(false), fused + 80);
}

TEST(ModelMemory, WeightsAreResident) {
  const Result<Device> device = Device::create(concurrent());
  ASSERT_TRUE(device) << device.error().to_string();
  ASSERT_TRUE(device->residency_enabled());
  const uint64_t before = device->counters().residency_allocations;
  const auto model = load(*device);
  ASSERT_TRUE(model);
  EXPECT_GE(device->counters().residency_allocations - before, model->file().tensors().size());
}

}  // namespace
}  // namespace mlxn::model
