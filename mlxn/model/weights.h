// Tensors of a model file as buffers of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "mlxn/core/device/device.h"
#include "mlxn/io/gguf.h"
#include "mlxn/model/weight_packer.h"

namespace mlxn::model {

struct WeightsOptions {
  bool copy = false;                                                 // uploads in any case
  bool exact = false;                                                // packs nothing
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // bytes
};

// A matrix that rows are multiplied by: as it is stored, or packed. Packed blocks take rows rounded
// to 8 bits.
struct WeightMatrix {
  Buffer stored;
  PackedWeights packed;
};

// Where memory is unified the file's own pages are the buffers and nothing is copied; elsewhere,
// where the device cannot map them, and for files that are not mapped, a tensor is uploaded when it
// is asked for, piece by piece. On a processor matrices of formats that can be packed are, unless
// `exact` or short memory forbids it. Not thread-safe.
class Weights {
 public:
  Weights(const Device& device, std::shared_ptr<const io::GgufFile> file,
          WeightsOptions options = {});

  const io::Metadata& metadata() const { return file_->metadata(); }
  bool has(std::string_view name) const { return file_->find(name) != nullptr; }

  // A tensor of this shape, outermost dimension first. kCorruptData when it is missing or has
  // another shape, kUnsupported when its type is one we cannot compute with.
  Result<Buffer> tensor(std::string_view name, const Shape& shape);
  // The same for a matrix, which may come packed. Its bytes are there after pack().
  Result<WeightMatrix> matrix(std::string_view name, const Shape& shape);
  // Packs what has been asked for. kIo when the file was cut meanwhile.
  Status pack();
  // kUnsupported when the file has tensors that nobody asked for: what they do would be missing.
  Status check_all_used() const;

  uint64_t mapped_bytes() const { return mapped_; }  // of tensors asked for so far
  uint64_t copied_bytes() const { return copied_; }
  uint64_t packed_bytes() const { return packer_ ? packer_->used_bytes() : 0; }

 private:
  Result<const io::TensorInfo*> find(std::string_view name, const Shape& shape);
  bool in_place(const io::TensorInfo& info) const;
  WeightPacker* packer();
  Result<Buffer> map(const io::TensorInfo& info, const Shape& shape,
                     std::span<const std::byte> bytes);
  Result<Buffer> upload(const io::TensorInfo& info, const Shape& shape,
                        std::span<const std::byte> bytes);
  void count(uint64_t& total, uint64_t bytes);

  Device device_;
  std::shared_ptr<const io::GgufFile> file_;
  std::set<std::string, std::less<>> used_;
  WeightsOptions options_;
  std::optional<WeightPacker> packer_;
  uint64_t mapped_ = 0, copied_ = 0, packed_ = 0, all_ = 0;
};

}  // namespace mlxn::model
