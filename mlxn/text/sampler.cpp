#include "mlxn/text/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "mlxn/base/strings.h"

namespace mlxn::text {
namespace {

// e^x for x <= 0, the same on every machine: x = k ln 2 + r with |r| <= ln 2 / 2, the Taylor series
// for e^r (error below 2^-52), and an exact scaling by 2^k. Below -700 it is 0.
double exp_of(double x) {
  if (x < -700) return 0;
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa3800p-1;  // 10 low bits are zero: k * this is exact
  constexpr double kLn2Low = 0x1.ef35793c76730p-45;
  const double k = std::floor(x * kLog2E + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * r / n;
  const auto exponent = static_cast<uint64_t>(1023 + static_cast<int64_t>(k));
  return sum * std::bit_cast<double>(exponent << 52);
}

struct Range {
  std::string_view name;
  double value;
  double low;
  double high;
  std::string_view expected;
};

Status check(const Range& range) {
  if (range.value >= range.low && range.value <= range.high) return {};  // false for NaN
  return Error(ErrorCode::kInvalidArgument,
               str(range.name, " is ", range.value, ", expected ", range.expected));
}

Status check(const SamplerOptions& options) {
  constexpr double kMaxCount = 1 << 24;
  constexpr double kMaxBias = 1e9;
  const bool greedy = options.temperature == 0;
  const Range kRanges[] = {
      {"temperature", options.temperature, greedy ? 0 : 1e-4, 1e4, "0 or 0.0001 to 10000"},
      {"top_k", static_cast<double>(options.top_k), 0, 2147483647, "0 (all) or more"},
      {"top_p", options.top_p, 1e-9, 1, "above 0 and at most 1 (all)"},
      {"min_p", options.min_p, 0, 1, "0 (all) to 1"},
      {"repeat_penalty", options.repeat_penalty, 0.01, 100, "0.01 to 100"},
      {"repeat_last_n", static_cast<double>(options.repeat_last_n), 0, kMaxCount,
       "0 (none) to 16777216"},
  };
  for (const Range& range : kRanges) MLXN_TRY(check(range));
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || !(std::abs(bias) <= kMaxBias))
      return Error(ErrorCode::kInvalidArgument,
                   str("logit bias of token ", token, " is ", bias,
                       ", expected a token and a number from -1e9 to 1e9"));
  }
  return {};
}

}  // namespace

Result<Sampler> Sampler::create(SamplerOptions options) {
  MLXN_TRY(check(options));
  return Sampler(std::move(options));
}

void Sampler::reset() {
  state_ = options_.seed;
  recent_.clear();
  recent_next_ = 0;
}

void Sampler::accept(int32_t token) {
  const auto most = static_cast<size_t>(options_.repeat_last_n);
  if (most == 0) return;
  if (recent_.size() < most) {
    recent_.push_back(token);
    return;
  }
  recent_[recent_next_] = token;
  recent_next_ = (recent_next_ + 1) % most;
}

Result<int32_t> Sampler::sample(std::span<const float> logits) {
  MLXN_TRY(load(logits));
  penalise();
  if (options_.temperature == 0) {
    const auto best =
        std::max_element(candidates_.begin(), candidates_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; });
    return best->id;
  }
  keep_top_k();
  double total = 0;
  for (Candidate& one : candidates_) {
    one.weight = exp_of(one.logit - candidates_.front().logit);
    total += one.weight;
  }
  keep_top_p(total);
  keep_min_p();
  return draw();
}

Status Sampler::load(std::span<const float> logits) {
  if (logits.empty() || logits.size() > 2147483647u)
    return Error(ErrorCode::kInvalidArgument,
                 str(logits.size(), " logits, expected 1 to 2147483647"));
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i]))
      return Error(ErrorCode::kInvalidArgument,
                   str("logit of token ", i, " is ", logits[i], ", expected a finite number"));
    candidates_[i] = {static_cast<int32_t>(i), logits[i], 0};
  }
  for (const auto& [token, bias] : options_.logit_bias) {
    if (static_cast<size_t>(token) >= logits.size())
      return Error(ErrorCode::kOutOfRange,
                   str("logit bias of token ", token, ", expected less than ", logits.size()));
    candidates_[static_cast<size_t>(token)].logit += bias;
  }
  return {};
}

// Each recent token once, however often it was accepted. Works on candidates in the order of ids.
void Sampler::penalise() {
  if (options_.repeat_penalty == 1) return;
  for (const int32_t token : recent_) {
    if (token < 0 || static_cast<size_t>(token) >= candidates_.size()) continue;
    Candidate& one = candidates_[static_cast<size_t>(token)];
    if (one.weight != 0) continue;  // marks those that are done
    one.weight = 1;
    one.logit =
        one.logit > 0 ? one.logit / options_.repeat_penalty : one.logit * options_.repeat_penalty;
  }
}

// Sorts as well: the most likely first.
void Sampler::keep_top_k() {
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const auto k = static_cast<size_t>(options_.top_k);
  if (k > 0 && k < candidates_.size()) {
    const auto end = candidates_.begin() + options_.top_k;
    std::nth_element(candidates_.begin(), end, candidates_.end(), before);
    candidates_.resize(k);
  }
  std::sort(candidates_.begin(), candidates_.end(), before);
}

void Sampler::keep_top_p(double total) {
  if (options_.top_p >= 1) return;
  double sum = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    sum += candidates_[i].weight;
    if (sum < options_.top_p * total) continue;
    candidates_.resize(i + 1);
    return;
  }
}

void Sampler::keep_min_p() {
  // Weights are relative to the most likely, which has 1.
  while (candidates_.back().weight < options_.min_p) candidates_.pop_back();
}

int32_t Sampler::draw() {
  double total = 0;
  for (Candidate& one : candidates_) {
    one.weight = exp_of((one.logit - candidates_.front().logit) / options_.temperature);
    total += one.weight;
  }
  const double target = next_uniform() * total;
  double sum = 0;
  for (const Candidate& one : candidates_) {
    sum += one.weight;
    if (sum > target) return one.id;
  }
  return candidates_.front().id;  // rounding left the target at the very end
}

double Sampler::next_uniform() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::string Sampler::describe() const {
  std::vector<std::string> steps;
  if (!options_.logit_bias.empty())
    steps.push_back(str("bias of ", options_.logit_bias.size(), " tokens"));
  if (options_.repeat_penalty != 1 && options_.repeat_last_n > 0)
    steps.push_back(
        str("repeat penalty ", options_.repeat_penalty, " over ", options_.repeat_last_n));
  if (options_.temperature == 0) {
    steps.push_back("highest logit");
  } else {
    if (options_.top_k > 0) steps.push_back(str("top-k ", options_.top_k));
    if (options_.top_p < 1) steps.push_back(str("top-p ", options_.top_p));
    if (options_.min_p > 0) steps.push_back(str("min-p ", options_.min_p));
    steps.push_back(str("temperature ", options_.temperature));
    steps.push_back(str("draw with seed ", options_.seed));
  }
  std::string out;
  for (const std::string& step : steps) out += out.empty() ? step : " -> " + step;
  return out;
}

}  // namespace mlxn::text
