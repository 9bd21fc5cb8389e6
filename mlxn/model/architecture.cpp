#include "mlxn/model/architecture.h"

#include "mlxn/base/strings.h"

namespace mlxn::model {

Result<Buffer> Temporaries::get(const Shape& shape) {
  MLXN_ASSIGN(const uint64_t elements, shape.element_count());
  MLXN_ASSIGN(const uint64_t bytes, size_bytes(Dtype::kF32, elements));
  if (next_ == buffers_.size()) buffers_.emplace_back();
  Buffer& buffer = buffers_[next_++];
  if (!buffer || buffer.byte_len() < bytes) {
    MLXN_ASSIGN(buffer, device_.alloc(Dtype::kF32, shape, StorageMode::kPrivate));
  }
  return Buffer(buffer.storage(), 0, bytes, Dtype::kF32, shape);
}

uint64_t Temporaries::byte_len() const {
  uint64_t total = 0;
  for (const Buffer& buffer : buffers_) total += buffer.byte_len();
  return total;
}

Result<std::unique_ptr<Architecture>> create_architecture(Weights& weights) {
  MLXN_ASSIGN(const std::string name, weights.metadata().text("general.architecture"));
  std::string known;
  for (const ArchitectureEntry* entry : architectures()) {
    if (entry->name == name) {
      MLXN_ASSIGN(std::unique_ptr<Architecture> architecture, entry->create(weights));
      MLXN_TRY(weights.check_all_used());
      return architecture;
    }
    known += str(known.empty() ? "" : ", ", entry->name);
  }
  return Error(ErrorCode::kUnsupported,
               str("architecture '", name, "' is not there yet, expected one of: ", known));
}

}  // namespace mlxn::model
