// Chooses the next token from logits, on the host.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn::text {

struct SamplerOptions {
  double temperature = 0.8;                   // 0: greedy; otherwise 1e-4 or more
  int32_t top_k = 40;                         // the k most likely; 0: all
  double top_p = 0.95;                        // the fewest whose probabilities reach p; 1: all
  double min_p = 0.05;                        // at least this share of the most likely one; 0: all
  double repeat_penalty = 1.0;                // above 1: recent tokens are less likely; 1: off
  int32_t repeat_last_n = 64;                 // how many accepted tokens are recent; 0: none
  uint64_t seed = 0;                          // every value is a seed
  std::map<int32_t, double> logit_bias = {};  // added to the logits of these tokens
};

// Steps, in this order: bias, repeat penalty, top-k, top-p, min-p, temperature, draw. At
// temperature 0: bias, repeat penalty, highest logit; between equal ones the lowest id wins, there
// and wherever tokens are ranked.
//
// The same options, logits and accepted tokens give the same tokens on every machine: the
// probabilities are made of IEEE double additions, multiplications and divisions in a fixed order,
// and random numbers come from SplitMix64 (53 bits for each draw). One token consumes one number,
// greedy ones none. Not thread-safe; copies go on independently from the same state.
class Sampler {
 public:
  // kInvalidArgument names the option, its value and the values allowed.
  static Result<Sampler> create(SamplerOptions options);

  // An id below logits.size(). Fails for no logits, for NaN and infinite ones (naming the first),
  // and when the bias names a token that is not there.
  Result<int32_t> sample(std::span<const float> logits);
  // Makes a token recent: call it for each token of the prompt and of the answer.
  void accept(int32_t token);
  // Forgets accepted tokens and starts the random numbers again from the seed.
  void reset();

  const SamplerOptions& options() const { return options_; }
  // The steps that act, in order, with their values: "repeat penalty 1.1 over 64 -> top-k 40 ->
  // ...".
  std::string describe() const;

 private:
  struct Candidate {
    int32_t id;
    double logit;
    double weight;  // exp(logit - highest), unnormalised
  };
  explicit Sampler(SamplerOptions options) : options_(std::move(options)) { reset(); }
  Status load(std::span<const float> logits);
  void penalise();
  void keep_top_k();
  void keep_top_p(double total);
  void keep_min_p();
  int32_t draw();
  double next_uniform();

  SamplerOptions options_;
  uint64_t state_ = 0;
  std::vector<int32_t> recent_;  // a ring of repeat_last_n tokens
  size_t recent_next_ = 0;
  std::vector<Candidate> candidates_;  // kept to save allocations
};

}  // namespace mlxn::text
