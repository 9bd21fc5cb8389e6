// Tensors of a model that lies in one or several files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/base/dtype.h"
#include "mlxn/base/result.h"
#include "mlxn/io/mapped_file.h"

namespace mlxn::io {

struct TensorInfo {
  std::string name;
  uint32_t type = 0;           // GGUF's number
  std::string_view type_name;  // "q4_0", "unknown"
  std::optional<Dtype> dtype;  // nothing: we cannot compute with it
  std::vector<uint64_t> dims;  // dims[0] varies fastest; none for a single value
  uint64_t elements = 0;
  uint64_t bytes = 0;   // 0 when the type is unknown
  uint64_t offset = 0;  // of the first byte, from the start of the part
  uint32_t part = 0;    // which file of a split model
};

// What every reader of model files offers. Immutable once the reader has built it, and thread-safe.
class TensorTable {
 public:
  TensorTable(TensorTable&&) = default;
  TensorTable& operator=(TensorTable&&) = default;

  std::span<const TensorInfo> tensors() const { return tensors_; }  // by place in the files
  // Null: no such tensor.
  const TensorInfo* find(std::string_view name) const;
  // The bytes of a tensor of this table, without a copy; they live as long as this object and
  // mapping(tensor.part). kUnsupported when the tensor's size is unknown, kIo when the file became
  // shorter.
  Result<std::span<const std::byte>> data(const TensorInfo& tensor) const;

  uint32_t parts() const { return static_cast<uint32_t>(parts_.size()); }
  // The map of a part, to keep it alive or to read it as a whole; null for bytes in memory.
  std::shared_ptr<const MappedFile> mapping(uint32_t part) const {
    return part < parts_.size() ? parts_[part].file : nullptr;
  }

 protected:
  TensorTable() = default;
  ~TensorTable() = default;

  // Adds a file (or, when that is null, bytes that outlive the table) with its tensors, whose spans
  // were checked, as the next part.
  void add_part(std::shared_ptr<const MappedFile> file, std::span<const std::byte> memory,
                std::vector<TensorInfo> tensors);
  // Called after the last part. kCorruptData when a name is there twice.
  Status build_index();

 private:
  struct Part {
    std::shared_ptr<const MappedFile> file;  // null: `memory` is what there is
    std::span<const std::byte> memory;
  };
  std::vector<Part> parts_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string_view, size_t> index_;  // names live in tensors_
};

}  // namespace mlxn::io
