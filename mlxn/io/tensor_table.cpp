#include "mlxn/io/tensor_table.h"

#include <utility>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"

namespace mlxn::io {

void TensorTable::add_part(std::shared_ptr<const MappedFile> file,
                           std::span<const std::byte> memory, std::vector<TensorInfo> tensors) {
  for (TensorInfo& tensor : tensors) {
    tensor.part = parts();
    tensors_.push_back(std::move(tensor));
  }
  parts_.push_back({std::move(file), memory});
}

Status TensorTable::build_index() {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (!index_.emplace(tensors_[i].name, i).second)
      return Error(ErrorCode::kCorruptData, str("tensor '", tensors_[i].name, "' is there twice"));
  }
  return {};
}

const TensorInfo* TensorTable::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

Result<std::span<const std::byte>> TensorTable::data(const TensorInfo& tensor) const {
  if (tensor.part >= parts_.size())
    return Error(ErrorCode::kInvalidArgument, str("tensor '", tensor.name, "' of part ",
                                                  tensor.part, ", there are ", parts_.size()));
  if (tensor.bytes == 0 && tensor.elements != 0)
    return Error(ErrorCode::kUnsupported, str("tensor '", tensor.name, "' has type ", tensor.type,
                                              " (", tensor.type_name, "), whose size is unknown"));
  const Part& part = parts_[tensor.part];
  if (part.file) return part.file->bytes(tensor.offset, tensor.bytes);
  if (!span_fits(tensor.offset, tensor.bytes, part.memory.size()))
    return Error(ErrorCode::kOutOfRange, str("tensor '", tensor.name, "' is not of this file"));
  return part.memory.subspan(tensor.offset, tensor.bytes);
}

}  // namespace mlxn::io
