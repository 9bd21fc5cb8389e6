#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "mlxn/base/recycled.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/graph/fusion.h"
#include "mlxn/core/graph/replay.h"
#include "mlxn/core/memory/pool.h"
#include "mlxn/model/model.h"

namespace mlxn::model {

struct EvaluatorOptions {
  uint64_t context = 0;       // positions of each sequence; 0: what the model was trained for
  uint32_t sequences = 1;     // kept side by side
  uint32_t chunk = 512;       // most tokens of one pass
  uint32_t outputs = 0;       // most tokens of one pass that logits are wanted for; 0: sequences
  Dtype cache = Dtype::kF16;  // of keys and values; or f32
  // Passes are recorded as graphs, which are optimised and replayed; those over few tokens are kept
  // for the next time. False: every pass is encoded as the architecture has it, with the same
  // results.
  bool replay = true;
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
  std::map<std::string_view, uint64_t> fusions = {};  // by rule
};

// What a caller hears of a long append. Both may be empty.
struct AppendEvents {
  // Asked between passes, and some times within those over many tokens, about once for each layer;
  // true ends the call with kCancelled.
  std::function<bool()> cancelled = {};
  // Tokens that are evaluated, and all there are.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
};

// Sequences of tokens with what the architecture keeps of them, and the passes that extend them. A
// failed call leaves every sequence as it was, or shorter where the architecture's state knows no
// way back. A model file that was cut meanwhile is kIo, provided that the program lives to tell
// (io::survive_cut_files). One user at a time.
class Evaluator {
 public:
  static Result<Evaluator> create(std::shared_ptr<const Model> model,
                                  EvaluatorOptions options = {});

  const Model& model() const { return *model_; }
  const EvaluatorOptions& options() const { return options_; }  // with what 0 stood for
  uint64_t state_bytes() const { return state_->byte_len(); }
  uint64_t scratch_bytes() const;
  const EvaluatorStats& stats() const { return stats_; }
  std::span<const int32_t> tokens(uint32_t sequence) const { return sequences_[sequence]; }

  // Appends at least one token, in passes of at most options().chunk, and gives the logits of the
  // last one. They are valid until the next call. While a pass runs the next one is encoded.
  // kOutOfRange when the context is full, with the sizes; then nothing was appended. When it is
  // cancelled, what whole passes have appended stays.
  Result<std::span<const float>> append(uint32_t sequence, std::span<const int32_t> tokens,
                                        const AppendEvents& events = {});
  // The same with the logits of every token: `visit` gets its index among `tokens` and its logits.
  using Visit = std::function<void(uint64_t index, std::span<const float> logits)>;
  Status append_each(uint32_t sequence, std::span<const int32_t> tokens, const Visit& visit);
  // One token for each of several sequences in one pass; the logits in that order, one after the
  // other. A sequence gets the same bits as alone.
  Result<std::span<const float>> step(std::span<const SequenceToken> next);

  // Forgets all tokens from `length` on. Returns how many are left: `length`, or fewer where the
  // architecture's state knows no way back.
  Result<uint64_t> truncate(uint32_t sequence, uint64_t length);
  // Keeps what the sequence has in common with `tokens`, but for the last one, whose logits will be
  // asked for: returns how many tokens need not be appended again.
  uint64_t keep_prefix(uint32_t sequence, std::span<const int32_t> tokens);

 private:
  // Tokens of one pass, and which of them have logits.
  struct Pass {
    RecycledVector<uint32_t> tokens, positions, sequences, outputs;
    void add(uint32_t sequence, uint64_t position, int32_t token);
  };
  // What the host writes for a pass. There are two, because one pass may run while the next one is
  // written.
  struct Inputs {
    Buffer tokens, positions, sequences, outputs;
  };
  // A pass, ready to be replayed one part after the other.
  struct Plans {
    std::vector<std::shared_ptr<ReplayPlan>> parts;
    FusionStats fusions;
  };

  Evaluator(std::shared_ptr<const Model> model, const EvaluatorOptions& options,
            std::unique_ptr<State> state);
  Status allocate();
  Status check(uint32_t sequence, std::span<const int32_t> tokens) const;
  Status run(std::span<const Pass> passes, const AppendEvents& events, uint64_t& evaluated);
  Result<std::span<const float>> run_one(const Pass& pass);
  Status submit(EncoderSession& session, const Pass& pass, size_t slot, const AppendEvents& events);
  Status encode(ComputeEncoder& encoder, const Pass& pass, size_t slot);
  Result<std::shared_ptr<const Plans>> plans(const Pass& pass, size_t slot, size_t parts);
  Result<std::span<const float>> logits(uint64_t outputs) const;
  void forget(uint32_t sequence, uint64_t known, uint64_t length);

  std::shared_ptr<const Model> model_;
  EvaluatorOptions options_;
  std::unique_ptr<State> state_;
  BufferPool scratch_;
  std::array<Inputs, 2> inputs_;
  Buffer logits_;
  std::vector<std::vector<int32_t>> sequences_;
  // By tokens, outputs and inputs.
  std::map<std::tuple<uint64_t, uint64_t, size_t>, std::shared_ptr<const Plans>> plans_;
  EvaluatorStats stats_;
};

}  // namespace mlxn::model
