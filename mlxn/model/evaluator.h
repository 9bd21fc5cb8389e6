#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mlxn/core/graph/replay.h"
#include "mlxn/model/kv_cache.h"
#include "mlxn/model/model.h"

namespace mlxn::model {

struct EvaluatorOptions {
  uint64_t context = 0;       // positions of each sequence; 0: what the model was trained for
  uint32_t sequences = 1;     // kept side by side
  uint32_t chunk = 512;       // most tokens of one pass
  uint32_t outputs = 0;       // most tokens of one pass that logits are wanted for; 0: sequences
  Dtype cache = Dtype::kF16;  // of keys and values; or f32
  bool replay = true;         // passes of few tokens are recorded once and replayed
};

// The next token of a sequence.
struct SequenceToken {
  uint32_t sequence;
  int32_t token;
};

// What passes have given the device so far.
struct EvaluatorStats {
  uint64_t passes = 0;
  uint64_t dispatches = 0, barriers = 0;
};

// Sequences of tokens with their keys and values, and the passes that extend them. A failed call
// leaves every sequence as it was. A model file that was cut meanwhile is kIo, provided that the
// program lives to tell (io::survive_cut_files). One user at a time.
class Evaluator {
 public:
  static Result<Evaluator> create(std::shared_ptr<const Model> model,
                                  EvaluatorOptions options = {});

  const Model& model() const { return *model_; }
  const EvaluatorOptions& options() const { return options_; }  // with what 0 stood for
  uint64_t cache_bytes() const { return cache_.byte_len(); }
  uint64_t scratch_bytes() const;
  const EvaluatorStats& stats() const { return stats_; }
  std::span<const int32_t> tokens(uint32_t sequence) const { return sequences_[sequence]; }

  using Cancelled = std::function<bool()>;
  // Appends at least one token, in passes of at most options().chunk, and gives the logits of the
  // last one. They are valid until the next call. kOutOfRange when the context is full, with the
  // sizes; then nothing was appended. `cancelled` is asked between passes and between the layers of
  // those over many tokens; true ends the call with kCancelled.
  Result<std::span<const float>> append(uint32_t sequence, std::span<const int32_t> tokens,
                                        const Cancelled& cancelled = {});
  // The same with the logits of every token: `visit` gets its index among `tokens` and its logits.
  using Visit = std::function<void(uint64_t index, std::span<const float> logits)>;
  Status append_each(uint32_t sequence, std::span<const int32_t> tokens, const Visit& visit);
  // One token for each of several sequences in one pass; the logits in that order, one after the
  // other. A sequence gets the same bits as alone.
  Result<std::span<const float>> step(std::span<const SequenceToken> next);

  // Forgets all tokens from `length` on.
  Status truncate(uint32_t sequence, uint64_t length);
  // Keeps what the sequence has in common with `tokens`, but for the last one, whose logits will be
  // asked for: returns how many tokens need not be appended again.
  uint64_t keep_prefix(uint32_t sequence, std::span<const int32_t> tokens);

 private:
  // Tokens of one pass, and which of them have logits.
  struct Pass {
    std::vector<uint32_t> tokens, positions, sequences, outputs;
    void add(uint32_t sequence, uint64_t position, int32_t token);
  };

  Evaluator(std::shared_ptr<const Model> model, const EvaluatorOptions& options, KvCache cache);
  Status allocate();
  Status check(uint32_t sequence, std::span<const int32_t> tokens) const;
  Result<std::span<const float>> run(const Pass& pass, const Cancelled& cancelled = {});
  Status submit_recorded(uint64_t tokens, uint64_t outputs);
  Status submit_encoded(uint64_t tokens, uint64_t outputs, const Cancelled& cancelled);
  Status encode(ComputeEncoder& encoder, uint64_t tokens, uint64_t outputs,
                const std::function<Status()>& between_layers);
  Result<std::shared_ptr<ReplayPlan>> plan(uint64_t tokens, uint64_t outputs);

  std::shared_ptr<const Model> model_;
  EvaluatorOptions options_;
  KvCache cache_;
  Temporaries temporaries_;
  Buffer tokens_, positions_, slots_, outputs_, logits_;
  std::vector<std::vector<int32_t>> sequences_;
  std::map<std::pair<uint64_t, uint64_t>, std::shared_ptr<ReplayPlan>> plans_;
  EvaluatorStats stats_;
};

}  // namespace mlxn::model
