#include "mlxn/model/weights.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "mlxn/base/checked.h"
#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

namespace mlxn::model {
namespace {

constexpr uint64_t kUploadBytes = uint64_t{16} << 20;

}  // namespace

Weights::Weights(const Device& device, std::shared_ptr<const io::GgufFile> file,
                 WeightsOptions options)
    : device_(device), file_(std::move(file)), options_(std::move(options)) {
  for (const io::TensorInfo& tensor : file_->tensors()) all_ += tensor.bytes;
}

Result<const io::TensorInfo*> Weights::find(std::string_view name, const Shape& shape) {
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
  // What is used in two forms takes its time twice.
  if (!used_.emplace(name).second) all_ += info->bytes;
  return info;
}

// The device can use the file's own pages.
bool Weights::in_place(const io::TensorInfo& info) const {
  return file_->mapping(info.part) && device_.limits().unified_memory && !options_.copy;
}

Result<Buffer> Weights::tensor(std::string_view name, const Shape& shape) {
  MLXN_ASSIGN(const io::TensorInfo* info, find(name, shape));
  MLXN_ASSIGN(const std::span<const std::byte> bytes, file_->data(*info));
  if (in_place(*info)) {
    auto mapped = map(*info, shape, bytes);
    // A device may be unable to use memory that is not its own.
    if (mapped || mapped.error().code() != ErrorCode::kOutOfMemory) return mapped;
  }
  return upload(*info, shape, bytes);
}

Result<WeightMatrix> Weights::matrix(std::string_view name, const Shape& shape) {
  const io::TensorInfo* known = file_->find(name);
  const bool can_pack = known && known->dtype && quant::can_pack(*known->dtype) && in_place(*known);
  WeightPacker* packs = can_pack && shape.size() == 2 ? packer() : nullptr;
  WeightMatrix result;
  if (packs) {
    MLXN_ASSIGN(const io::TensorInfo* info, find(name, shape));
    MLXN_ASSIGN(const std::span<const std::byte> bytes, file_->data(*info));
    MLXN_ASSIGN(const auto layout, quant::packed_layout(*info->dtype, shape[0], shape[1]));
    MLXN_ASSIGN(result.packed, packs->add(layout, bytes));
  } else {
    MLXN_ASSIGN(result.stored, tensor(name, shape));
  }
  return result;
}

// With room for every matrix of the file. Null where matrices are used as they are stored.
WeightPacker* Weights::packer() {
  if (packer_) return &*packer_;
  if (options_.exact || !device_.limits().is_processor) return nullptr;
  uint64_t bytes = 0;
  for (const io::TensorInfo& tensor : file_->tensors()) {
    if (tensor.dims.size() != 2 || !tensor.dtype) continue;
    const auto layout = quant::packed_layout(*tensor.dtype, tensor.dims[1], tensor.dims[0]);
    if (!layout) continue;
    const auto more = checked_align_up(layout->packed_bytes(), WeightPacker::kAlignment);
    const auto sum = more ? checked_add(bytes, *more) : more;
    bytes = sum ? *sum : UINT64_MAX;
    if (!sum) break;
  }
  auto made = WeightPacker::create(device_, bytes);
  if (made) return &packer_.emplace(std::move(*made));
  log(LogLevel::kWarning,
      str("weights are used as they are stored, which is slower: ", made.error().message()));
  options_.exact = true;
  return nullptr;
}

Status Weights::pack() {
  if (!packer_) return {};
  MLXN_TRY(packer_->run([this](uint64_t bytes) { count(packed_, bytes); }));
  for (uint32_t part = 0; part < file_->parts(); ++part) {
    if (const auto mapping = file_->mapping(part)) MLXN_TRY(mapping->check_length());
  }
  return {};
}

Result<Buffer> Weights::map(const io::TensorInfo& info, const Shape& shape,
                            std::span<const std::byte> bytes) {
  // A buffer begins at a page. Nothing ever writes to it: the map is read-only.
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uint64_t offset = address % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address - offset);
  const uint64_t length = offset + bytes.size();
  std::shared_ptr<void> owner = std::const_pointer_cast<io::MappedFile>(file_->mapping(info.part));
  MLXN_ASSIGN(const Buffer pages,
              device_.wrap_host_memory(page, length, Dtype::kU8, Shape{length}, std::move(owner)));
  count(mapped_, bytes.size());
  return Buffer(pages.storage(), offset, bytes.size(), *info.dtype, shape);
}

// In pieces: staging memory stays small, and somebody may watch.
Result<Buffer> Weights::upload(const io::TensorInfo& info, const Shape& shape,
                               std::span<const std::byte> bytes) {
  MLXN_ASSIGN(Buffer buffer, device_.alloc_uninit(*info.dtype, shape, StorageMode::kPrivate));
  for (uint64_t done = 0; done < bytes.size();) {
    const uint64_t size = std::min<uint64_t>(kUploadBytes, bytes.size() - done);
    const Buffer piece(buffer.storage(), done, size, Dtype::kU8, Shape{size});
    MLXN_TRY(device_.upload(bytes.subspan(done, size), piece));
    count(copied_, size);
    done += size;
  }
  return buffer;
}

void Weights::count(uint64_t& total, uint64_t bytes) {
  total += bytes;
  if (options_.progress) options_.progress(mapped_ + copied_ + packed_, all_);
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
