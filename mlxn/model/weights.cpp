#include "mlxn/model/weights.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mlxn/base/strings.h"

namespace mlxn::model {

Weights::Weights(Device device, std::shared_ptr<const io::GgufFile> file)
    : device_(std::move(device)), file_(std::move(file)) {}

Result<Buffer> Weights::tensor(std::string_view name, const Shape& shape) {
  const io::TensorInfo* info = file_->find(name);
  if (!info) return Error(ErrorCode::kCorruptData, str("the model has no tensor '", name, "'"));
  std::vector<uint64_t> sizes(info->dims.rbegin(), info->dims.rend());
  if (!std::ranges::equal(sizes, shape)) {
    return Error(ErrorCode::kCorruptData,
                 str("tensor '", name, "' has shape ", Shape(ArrayRef<uint64_t>(sizes)).to_string(),
                     ", expected ", shape.to_string()));
  }
  if (!info->dtype) {
    return Error(ErrorCode::kUnsupported, str("tensor '", name, "' has type ", info->type_name,
                                              " (", info->type, "), which no kernel can read"));
  }
  used_.emplace(name);
  MLXN_ASSIGN(const std::span<const std::byte> bytes, file_->data(*info));
  std::shared_ptr<const io::MappedFile> mapping = file_->mapping(info->part);
  if (!mapping || !device_.limits().unified_memory) {
    MLXN_ASSIGN(Buffer buffer, device_.alloc_uninit(*info->dtype, shape, StorageMode::kPrivate));
    MLXN_TRY(device_.upload(bytes, buffer));
    copied_ += bytes.size();
    return buffer;
  }
  // A buffer begins at a page. Nothing ever writes to it: the map is read-only.
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uint64_t offset = address % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address - offset);
  const uint64_t length = offset + bytes.size();
  std::shared_ptr<void> owner = std::const_pointer_cast<io::MappedFile>(std::move(mapping));
  MLXN_ASSIGN(const Buffer pages,
              device_.wrap_host_memory(page, length, Dtype::kU8, Shape{length}, std::move(owner)));
  mapped_ += bytes.size();
  return Buffer(pages.storage(), offset, bytes.size(), *info->dtype, shape);
}

Status Weights::check_all_used() const {
  uint64_t unused = 0;
  std::string first;
  for (const io::TensorInfo& tensor : file_->tensors()) {
    if (used_.contains(tensor.name)) continue;
    if (unused++ == 0) first = tensor.name;
  }
  if (unused == 0) return {};
  return Error(
      ErrorCode::kUnsupported,
      str("the model has ", unused, " tensors that this architecture does not know, the first is '",
          first, "', expected none"));
}

}  // namespace mlxn::model
