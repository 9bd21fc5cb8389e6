// An architecture: the graph of one forward pass over ops, from hyperparameters in the metadata.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/memory/pool.h"
#include "mlxn/model/state.h"
#include "mlxn/model/weights.h"

namespace mlxn::model {

// What the parts around an architecture need to know about it.
struct ModelShape {
  uint32_t layers = 0, vocabulary = 0;
  uint64_t context = 0;  // positions it was trained for
};

// One pass over some tokens, which may belong to several sequences.
struct ForwardPass {
  ComputeEncoder& encoder;
  State& state;  // made by the architecture's create_state
  BufferPool& scratch;
  const Buffer& tokens;     // u32 [tokens]
  const Buffer& positions;  // u32 [tokens]
  const Buffer& sequences;  // u32 [tokens]
  const Buffer& outputs;    // u32 [n]: which of the tokens logits are wanted for
  const Buffer& logits;     // f32 [n, vocabulary]

  // Memory for a value that lives within the pass.
  Result<Buffer> temporary(const Shape& shape) const { return scratch.alloc(Dtype::kF32, shape); }
};

// Immutable; passes may be encoded from several threads.
class Architecture {
 public:
  virtual ~Architecture() = default;
  virtual const ModelShape& shape() const = 0;
  // What passes keep, for so many sequences of such a length.
  virtual Result<std::unique_ptr<State>> create_state(const Device& device,
                                                      const StateOptions& options) const = 0;
  // Encodes a pass. What conflicts is ordered by the accesses that ops declare. The same
  // dispatches may serve other passes over as many tokens: what is different then lies in buffers.
  virtual Status encode(const ForwardPass& pass) const = 0;
};

// One file in architectures/ defines one entry, named architecture_<file>; the build finds it.
struct ArchitectureEntry {
  std::string_view name;  // as in general.architecture
  Result<std::unique_ptr<Architecture>> (*create)(Weights& weights);
};
using ArchitectureList = std::span<const ArchitectureEntry* const>;
ArchitectureList architectures();

// The one that the metadata names. kUnsupported for others, with the names of those we have, and
// when the file has tensors that it does not use.
Result<std::unique_ptr<Architecture>> create_architecture(Weights& weights, ArchitectureList known);

}  // namespace mlxn::model
