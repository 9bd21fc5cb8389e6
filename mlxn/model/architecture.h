// An architecture: the graph of one forward pass over ops, from hyperparameters in the metadata.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/model/kv_cache.h"
#include "mlxn/model/weights.h"

namespace mlxn::model {

// What the parts around an architecture need to know about it.
struct ModelShape {
  uint32_t layers = 0, kv_heads = 0, head_dim = 0;
  uint32_t vocabulary = 0;
  uint64_t context = 0;  // positions it was trained for
};

// Memory for values that live within one pass. A pass that asks for the same sizes in the same
// order gets the same memory again, so that a recorded pass stays valid.
class Temporaries {
 public:
  explicit Temporaries(Device device) : device_(std::move(device)) {}
  void begin() { next_ = 0; }
  Result<Buffer> get(const Shape& shape);  // f32
  uint64_t byte_len() const;

 private:
  Device device_;
  std::vector<Buffer> buffers_;
  size_t next_ = 0;
};

// One pass over some tokens, which may belong to several sequences.
struct ForwardPass {
  ComputeEncoder& encoder;
  const KvCache& cache;
  Temporaries& temporaries;
  const Buffer& tokens;     // u32 [tokens]
  const Buffer& positions;  // u32 [tokens]
  const Buffer& sequences;  // u32 [tokens]
  const Buffer& outputs;    // u32 [n]: which of the tokens logits are wanted for
  const Buffer& logits;     // f32 [n, vocabulary]
  // Called between layers, where a pass may be cut into command buffers; an error ends it.
  const std::function<Status()>& between_layers;
};

// Immutable; passes may be encoded from several threads.
class Architecture {
 public:
  virtual ~Architecture() = default;
  virtual const ModelShape& shape() const = 0;
  // Encodes a pass. What conflicts is ordered by the accesses that ops declare.
  virtual Status encode(const ForwardPass& pass) const = 0;
};

// One file in architectures/ defines one entry, named architecture_<file>; the build finds it.
struct ArchitectureEntry {
  std::string_view name;  // as in general.architecture
  Result<std::unique_ptr<Architecture>> (*create)(Weights& weights);
};
std::span<const ArchitectureEntry* const> architectures();

// The one that the metadata names. kUnsupported for others, with the names of those we have, and
// when the file has tensors that it does not use.
Result<std::unique_ptr<Architecture>> create_architecture(Weights& weights);

}  // namespace mlxn::model
