#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mlxn/core/device/device.h"
#include "mlxn/io/gguf.h"
#include "mlxn/model/architecture.h"

namespace mlxn::model {

struct LoadOptions {
  // Weights are uploaded even where the device could use the file's own pages.
  bool copy = false;
  // On a processor, products of matrices in block formats take weights packed anew and activations
  // rounded to 8 bits, which is fast. Exact ones use the file's own pages and round nothing.
  bool exact = false;
  // Bytes of weights that are ready, and all there are. Only uploading and packing take long.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  ArchitectureList architectures = model::architectures();
};

// A model file on a device, ready to be evaluated. Immutable after load; may be shared.
class Model {
 public:
  // Maps the file and finds its tensors; nothing is compiled or computed. The device must order
  // dispatches by itself (RuntimeOptions::auto_barrier or serial_dispatch), else kInvalidArgument.
  // Weights are used where they lie, packed, or uploaded to devices that have memory of their own.
  static Result<std::shared_ptr<const Model>> load(const Device& device, const std::string& path,
                                                   const LoadOptions& options = {});

  const Device& device() const { return device_; }
  const io::GgufFile& file() const { return *file_; }
  const io::Metadata& metadata() const { return file_->metadata(); }
  const Architecture& architecture() const { return *architecture_; }
  const ModelShape& shape() const { return architecture_->shape(); }
  uint64_t mapped_bytes() const { return mapped_; }  // of weights, used in place
  uint64_t copied_bytes() const { return copied_; }
  uint64_t packed_bytes() const { return packed_; }  // of matrices, in the form they are used in
  // Gets the kernels ready that passes over this model's types of weights need, so that none is
  // compiled later. `cache` is EvaluatorOptions::cache; progress counts kernels.
  using Progress = std::function<void(uint64_t done, uint64_t total)>;
  Status prepare_kernels(Dtype cache, const Progress& progress = {}) const;
  // kIo when the file was cut since it was loaded: weights that are used in place are gone then.
  Status check_file() const;

 private:
  explicit Model(const Device& device) : device_(device) {}

  Device device_;
  std::shared_ptr<const io::GgufFile> file_;
  std::unique_ptr<Architecture> architecture_;
  uint64_t mapped_ = 0, copied_ = 0, packed_ = 0;
};

}  // namespace mlxn::model
