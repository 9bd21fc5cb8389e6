#include "mlxn/core/device/device.h"

#include <unistd.h>

#include <cstring>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

uint64_t page_size() {
  return static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

MTL::ResourceOptions options_of(StorageMode mode) {
  return mode == StorageMode::kPrivate ? MTL::ResourceStorageModePrivate
                                       : MTL::ResourceStorageModeShared;
}

Result<uint64_t> bytes_of(Dtype dtype, const Shape& shape) {
  MLXN_ASSIGN(const uint64_t bytes, size_bytes(dtype, shape));
  if (bytes == 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str("buffer of shape ", shape.to_string(), " has 0 bytes, expected at least 1"));
  }
  return bytes;
}

Status check_length(uint64_t byte_len, Dtype dtype, const Shape& shape) {
  MLXN_ASSIGN(const uint64_t needed, bytes_of(dtype, shape));
  if (byte_len == needed) return {};
  return Error(ErrorCode::kInvalidArgument, str("buffer of ", byte_len, " bytes, expected ", needed,
                                                " for ", to_string(dtype), " ", shape.to_string()));
}

// Runs one blit to its end.
template <class Encode>
Status run_blit(MTL::CommandQueue* queue, const char* what, Encode encode) {
  AutoreleaseScope scope;
  MTL::CommandBuffer* commands = queue->commandBuffer();
  MTL::BlitCommandEncoder* blit = commands ? commands->blitCommandEncoder() : nullptr;
  if (!blit) return Error(ErrorCode::kOutOfMemory, str(what, ": no command buffer"));
  encode(blit);
  blit->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  if (commands->status() == MTL::CommandBufferStatusCompleted) return {};
  return Error(ErrorCode::kExecutionFailed, str(what, ": ", to_text(commands->error())));
}

Result<std::shared_ptr<Storage>> allocate(const std::shared_ptr<Context>& context, uint64_t bytes,
                                          StorageMode mode) {
  if (bytes > context->limits.max_buffer_length) {
    return Error(ErrorCode::kOutOfMemory, str("buffer of ", bytes, " bytes, expected at most ",
                                              context->limits.max_buffer_length));
  }
  auto buffer = NS::TransferPtr(context->device->newBuffer(bytes, options_of(mode)));
  if (!buffer || (mode == StorageMode::kShared && !buffer->contents())) {
    return Error(ErrorCode::kOutOfMemory, str("the device has no ", bytes, " bytes left"));
  }
  auto storage = std::make_shared<Storage>(context, std::move(buffer));
  storage->make_resident();
  return storage;
}

}  // namespace

Device::Device(std::shared_ptr<Context> context, std::shared_ptr<Queue> queue)
    : context_(std::move(context)), queue_(std::move(queue)) {}

Result<Device> Device::create(RuntimeOptions options) {
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  if (!device) {
    return Error(ErrorCode::kDeviceNotFound, "no Metal GPU device found on this system");
  }
  return wrap(device.get(), std::move(options));
}

Result<Device> Device::wrap(MTL::Device* device, RuntimeOptions options) {
  if (!device) return Error(ErrorCode::kDeviceNotFound, "null, expected a Metal GPU device");
  AutoreleaseScope scope;
  auto context = std::make_shared<Context>(device, std::move(options));
  return Device(std::move(context), nullptr).with_new_queue();
}

Result<Device> Device::with_new_queue() const {
  auto queue = NS::TransferPtr(context_->device->newCommandQueue());
  if (!queue) return Error(ErrorCode::kOutOfMemory, "the device gave no command queue");
  return Device(context_, std::make_shared<Queue>(context_, std::move(queue)));
}

std::string Device::name() const {
  AutoreleaseScope scope;
  return to_text(context_->device->name());
}

const DeviceLimits& Device::limits() const {
  return context_->limits;
}
const RuntimeOptions& Device::options() const {
  return context_->options;
}
uint64_t Device::id() const {
  return context_->id;
}
bool Device::residency_enabled() const {
  return context_->residency != nullptr;
}
MTL::Device* Device::metal_device() const {
  return context_->device.get();
}
MTL::CommandQueue* Device::metal_queue() const {
  return queue_->metal.get();
}
Counters Device::counters() const {
  return context_->counters.snapshot();
}
Profile& Device::profile() const {
  return context_->profile;
}
KernelRegistry& Device::kernels() const {
  return context_->kernels;
}
std::string Device::to_string() const {
  return str("Device(", name(), ")");
}

Status Device::synchronize() const {
  return context_->synchronize();
}

Result<Buffer> Device::alloc(Dtype dtype, Shape shape, StorageMode mode) const {
  MLXN_ASSIGN(Buffer buffer, alloc_uninit(dtype, shape, mode));
  // Metal does not promise zeros, and kernels that read before they write must not differ from run
  // to run.
  if (std::byte* bytes = buffer.contents()) {
    std::memset(bytes, 0, buffer.byte_len());
  } else {
    MLXN_TRY(run_blit(metal_queue(), "zero-fill", [&](MTL::BlitCommandEncoder* blit) {
      blit->fillBuffer(buffer.metal_buffer(), NS::Range::Make(0, buffer.byte_len()), 0);
    }));
  }
  return buffer;
}

Result<Buffer> Device::alloc_buffer(uint64_t byte_len, Dtype dtype, Shape shape) const {
  if (byte_len == 0) {
    return Error(ErrorCode::kInvalidArgument, "buffer of 0 bytes, expected at least 1");
  }
  MLXN_TRY(check_length(byte_len, dtype, shape));
  return alloc(dtype, shape);
}

Result<Buffer> Device::alloc_uninit(Dtype dtype, Shape shape, StorageMode mode) const {
  MLXN_ASSIGN(const uint64_t bytes, bytes_of(dtype, shape));
  MLXN_ASSIGN(auto storage, allocate(context_, bytes, mode));
  return Buffer(std::move(storage), 0, bytes, dtype, shape);
}

Result<Buffer> Device::wrap_host_memory(void* bytes, uint64_t byte_len, Dtype dtype, Shape shape,
                                        std::shared_ptr<void> owner) const {
  MLXN_TRY(check_length(byte_len, dtype, shape));
  const auto address = reinterpret_cast<uintptr_t>(bytes);
  const uint64_t page = page_size();
  if (!bytes || address % page != 0) {
    return Error(ErrorCode::kInvalidArgument, str("host memory at address ", address,
                                                  ", expected a multiple of the page size ", page));
  }
  // The last page is mapped whole in any case.
  MLXN_ASSIGN(const uint64_t mapped, checked_align_up<uint64_t>(byte_len, page));
  auto buffer = NS::TransferPtr(
      context_->device->newBuffer(bytes, mapped, options_of(StorageMode::kShared), nullptr));
  if (!buffer) {
    return Error(ErrorCode::kOutOfMemory,
                 str("the device cannot map ", mapped, " bytes of host memory"));
  }
  auto storage = std::make_shared<Storage>(context_, std::move(buffer));
  storage->owner = std::move(owner);
  storage->make_resident();
  return Buffer(std::move(storage), 0, byte_len, dtype, shape);
}

Result<Buffer> Device::wrap_metal_buffer(MTL::Buffer* buffer, Dtype dtype, Shape shape) const {
  if (!buffer) return Error(ErrorCode::kInvalidArgument, "null, expected a Metal buffer");
  if (buffer->device() != context_->device.get()) {
    return Error(ErrorCode::kInvalidArgument, "the Metal buffer belongs to another device");
  }
  MLXN_ASSIGN(const uint64_t needed, bytes_of(dtype, shape));
  if (needed > buffer->length()) {
    return Error(ErrorCode::kOutOfRange,
                 str("Metal buffer of ", buffer->length(), " bytes, expected at least ", needed,
                     " for ", mlxn::to_string(dtype), " ", shape.to_string()));
  }
  auto storage = std::make_shared<Storage>(context_, NS::RetainPtr(buffer));
  storage->make_resident();
  return Buffer(std::move(storage), 0, needed, dtype, shape);
}

namespace {

Status check_transfer(const char* what, const Buffer& buffer, uint64_t bytes, uint64_t context) {
  if (!buffer) return Error(ErrorCode::kInvalidArgument, str(what, ": the buffer is empty"));
  if (buffer.storage()->context->id != context) {
    return Error(ErrorCode::kInvalidArgument,
                 str(what, ": ", buffer.to_string(), " belongs to another device"));
  }
  if (bytes == buffer.byte_len()) return {};
  return Error(ErrorCode::kInvalidArgument, str(what, ": ", bytes, " bytes, expected ",
                                                buffer.byte_len(), " as in ", buffer.to_string()));
}

}  // namespace

Status Device::upload(std::span<const std::byte> bytes, const Buffer& buffer) const {
  MLXN_TRY(check_transfer("upload", buffer, bytes.size(), id()));
  if (std::byte* host = buffer.contents()) {
    std::memcpy(host, bytes.data(), bytes.size());
    return {};
  }
  MLXN_ASSIGN(auto staging, allocate(context_, bytes.size(), StorageMode::kShared));
  std::memcpy(staging->host, bytes.data(), bytes.size());
  return run_blit(metal_queue(), "upload", [&](MTL::BlitCommandEncoder* blit) {
    blit->copyFromBuffer(staging->buffer.get(), 0, buffer.metal_buffer(), buffer.byte_offset(),
                         bytes.size());
  });
}

Status Device::download(const Buffer& buffer, std::span<std::byte> bytes) const {
  MLXN_TRY(check_transfer("download", buffer, bytes.size(), id()));
  if (const std::byte* host = buffer.contents()) {
    std::memcpy(bytes.data(), host, bytes.size());
    return {};
  }
  MLXN_ASSIGN(auto staging, allocate(context_, bytes.size(), StorageMode::kShared));
  MLXN_TRY(run_blit(metal_queue(), "download", [&](MTL::BlitCommandEncoder* blit) {
    blit->copyFromBuffer(buffer.metal_buffer(), buffer.byte_offset(), staging->buffer.get(), 0,
                         bytes.size());
  }));
  std::memcpy(bytes.data(), staging->host, bytes.size());
  return {};
}

}  // namespace mlxn
