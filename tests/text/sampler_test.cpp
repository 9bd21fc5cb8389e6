#include "mlxn/text/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mlxn::text {
namespace {

const SamplerOptions kPlain = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0};

Sampler make(SamplerOptions options) {
  return *Sampler::create(std::move(options));
}

std::vector<double> shares(Sampler sampler, const std::vector<float>& logits, int draws = 200000) {
  std::vector<double> counts(logits.size(), 0);
  for (int i = 0; i < draws; ++i)
    counts[static_cast<size_t>(*sampler.sample(logits))] += 1.0 / draws;
  return counts;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> out;
  double total = 0;
  for (float logit : logits) {
    out.push_back(std::exp(logit / temperature));
    total += out.back();
  }
  for (double& one : out) one /= total;
  return out;
}

// Within five standard deviations of the draws.
void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double deviation = std::sqrt(expected[i] * (1 - expected[i]) / 200000);
    EXPECT_NEAR(found[i], expected[i], 5 * deviation + 1e-9) << i;
  }
}

TEST(Sampler, GreedyTakesTheLowestOfTheHighest) {
  Sampler sampler = make({.temperature = 0});
  EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 2, 3}), 1);
  EXPECT_EQ(*sampler.sample(std::vector<float>{-5}), 0);
  EXPECT_EQ(sampler.describe(), "highest logit");
}

TEST(Sampler, DrawsBySoftmax) {
  const std::vector<float> logits = {0.5f, -1.0f, 2.0f, 0.0f, -30.0f};
  for (double temperature : {0.5, 1.0, 2.0}) {
    SamplerOptions options = kPlain;
    options.temperature = temperature;
    expect_near(shares(make(options), logits), softmax(logits, temperature));
  }
}

TEST(Sampler, TopKKeepsTheLowestIdsOfEqualLogits) {
  SamplerOptions options = kPlain;
  options.top_k = 2;
  expect_near(shares(make(options), {1, 1, 1, 0}), {0.5, 0.5, 0, 0});
  options.top_k = 100;
  expect_near(shares(make(options), {1, 1}), {0.5, 0.5});
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  SamplerOptions options = kPlain;
  const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
  const std::vector<float> logits = {log_of(0.1), log_of(0.5), log_of(0.3), log_of(0.1)};
  options.top_p = 0.75;
  expect_near(shares(make(options), logits), {0, 0.625, 0.375, 0});
  options.top_p = 0.4;
  expect_near(shares(make(options), logits), {0, 1, 0, 0});
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  SamplerOptions options = kPlain;
  const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
  options.min_p = 0.25;
  expect_near(shares(make(options), {log_of(0.6), log_of(0.2), log_of(0.1), log_of(0.1)}),
              {0.75, 0.25, 0, 0});
}

TEST(Sampler, StepsComeInTheirOrder) {
  // Top-p sees the probabilities at temperature 1: 0.5 alone reaches 0.5 although at 2 it would
  // not.
  SamplerOptions options = kPlain;
  options.temperature = 2;
  options.top_p = 0.5;
  const auto log_of = [](double p) { return static_cast<float>(std::log(p)); };
  expect_near(shares(make(options), {log_of(0.51), log_of(0.25), log_of(0.24)}), {1, 0, 0});
}

TEST(Sampler, PenaltyActsOnRecentTokensOnce) {
  Sampler sampler = make({.temperature = 0, .repeat_penalty = 2, .repeat_last_n = 2});
  const std::vector<float> logits = {4, 3, -1, -3};
  EXPECT_EQ(*sampler.sample(logits), 0);
  sampler.accept(0);
  sampler.accept(0);  // 4 / 2, not 4 / 4
  EXPECT_EQ(*sampler.sample(std::vector<float>{4, 1.5f}), 0);
  EXPECT_EQ(*sampler.sample(logits), 1);
  sampler.accept(1);  // both are recent: 2 and 1.5
  EXPECT_EQ(*sampler.sample(logits), 0);
  sampler.accept(1);  // 0 is forgotten
  EXPECT_EQ(*sampler.sample(std::vector<float>{4, 9}), 1);
  EXPECT_EQ(*sampler.sample(std::vector<float>{4, 7}), 0);
  sampler.accept(-3);
  sampler.accept(1000000);  // outside of the vocabulary: nothing to penalise
  EXPECT_EQ(*sampler.sample(std::vector<float>{4, 9}), 1);
  // A logit below zero moves down too.
  Sampler negative = make({.temperature = 0, .repeat_penalty = 4});
  negative.accept(0);
  EXPECT_EQ(*negative.sample(std::vector<float>{-1, -3}), 1);
}

TEST(Sampler, BiasComesFirst) {
  Sampler sampler = make({.temperature = 0, .logit_bias = {{2, 5}, {0, -100}}});
  EXPECT_EQ(*sampler.sample(std::vector<float>{3, 1, 0}), 2);
  const auto missing = sampler.sample(std::vector<float>{3, 1});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::kOutOfRange);
}

// These ids are part of the contract: they are the same on every machine.
TEST(Sampler, SeedsGiveFixedTokens) {
  std::vector<float> logits;
  for (int i = 0; i < 100; ++i) logits.push_back(static_cast<float>((i * 37) % 100) / 20);
  Sampler sampler =
      make({.temperature = 0.9, .top_k = 50, .top_p = 0.99, .min_p = 0.01, .seed = 42});
  std::vector<int32_t> ids;
  for (int i = 0; i < 16; ++i) {
    ids.push_back(*sampler.sample(logits));
    sampler.accept(ids.back());
  }
  const std::vector<int32_t> expected = {94, 81, 62, 89, 27, 10, 35, 75,
                                         89, 32, 8,  24, 24, 24, 86, 8};
  EXPECT_EQ(ids, expected);
  sampler.reset();
  EXPECT_EQ(*sampler.sample(logits), expected[0]);
  Sampler other = make({.seed = 43});
  std::vector<int32_t> others;
  for (int i = 0; i < 16; ++i) others.push_back(*other.sample(logits));
  EXPECT_NE(others, expected);
}

TEST(Sampler, ReportsBadLogits) {
  Sampler sampler = make({});
  const float infinity = std::numeric_limits<float>::infinity();
  for (float bad : {std::nanf(""), infinity, -infinity}) {
    const auto token = sampler.sample(std::vector<float>{0, bad, 1});
    ASSERT_FALSE(token);
    EXPECT_NE(token.error().message().find("logit of token 1 is "), std::string::npos);
  }
  EXPECT_FALSE(sampler.sample({}));
  EXPECT_TRUE(sampler.sample(std::vector<float>{3e38f, -3e38f}));
}

TEST(Sampler, ChecksOptions) {
  const double nan = std::nan("");
  const SamplerOptions bad[] = {
      {.temperature = -1},
      {.temperature = nan},
      {.temperature = 1e-9},
      {.top_k = -1},
      {.top_p = 0},
      {.top_p = 1.5},
      {.top_p = nan},
      {.min_p = -0.1},
      {.min_p = 2},
      {.repeat_penalty = 0},
      {.repeat_last_n = -1},
      {.logit_bias = {{-1, 0}}},
      {.logit_bias = {{1, nan}}},
  };
  for (const SamplerOptions& options : bad) {
    const auto sampler = Sampler::create(options);
    ASSERT_FALSE(sampler);
    EXPECT_EQ(sampler.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(sampler.error().message().find("expected"), std::string::npos);
  }
  EXPECT_EQ(make({.top_k = 40, .repeat_penalty = 1.1, .seed = 7}).describe(),
            "repeat penalty 1.1 over 64 -> top-k 40 -> top-p 0.95 -> min-p 0.05 -> temperature 0.8 "
            "-> draw with seed 7");
}

}  // namespace
}  // namespace mlxn::text
