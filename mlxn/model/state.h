#pragma once

#include <cstdint>

#include "mlxn/base/dtype.h"

namespace mlxn::model {

// What a state is asked to hold.
struct StateOptions {
  uint64_t context = 0;  // positions of each sequence
  uint32_t sequences = 1;
  Dtype cache = Dtype::kF16;  // of keys and values, where there are some; f32 or q8_0
};

// What an architecture keeps of the tokens of its sequences from one pass to the next: keys and
// values, a recurrent state, or nothing. Passes change it on the device; the evaluator counts
// tokens and positions. A token at position 0 begins its sequence anew.
class State {
 public:
  virtual ~State() = default;
  virtual uint64_t byte_len() const = 0;
  // Forgets the tokens of a sequence from `length` on; it has `known`, and nothing is in flight.
  // Returns how many it still has: `length`, or fewer where there is no way back.
  virtual uint64_t truncate(uint32_t sequence, uint64_t known, uint64_t length) = 0;
};

// Of architectures that look at each pass alone, such as embeddings.
class NoState final : public State {
 public:
  uint64_t byte_len() const override { return 0; }
  uint64_t truncate(uint32_t, uint64_t, uint64_t length) override { return length; }
};

}  // namespace mlxn::model
