// MTL::Allocation, Resource, Buffer, and the buffer functions of Device.
#include "metal/rt/memory/resource.h"

#include <unistd.h>

#include <cstring>

#include "metal/rt/device/validation.h"
#include "mlxn/base/checked.h"

namespace mlxn::rt {

std::string Life::named(const char* kind) const {
  const std::string text = label.text();
  return text.empty() ? std::string(kind) : str(kind, " '", text, "'");
}

MTL::StorageMode storage_mode(MTL::ResourceOptions options) {
  return static_cast<MTL::StorageMode>(options >> 4 & 0xf);
}

Storage storage_of(MTL::ResourceOptions options) {
  return storage_mode(options) == MTL::StorageModePrivate ? Storage::kPrivate : Storage::kShared;
}

Status check_options(MTL::ResourceOptions options) {
  const NS::UInteger cache = options & 0xf, tracking = options >> 8 & 0xf;
  if (storage_mode(options) > MTL::StorageModePrivate || cache > 1 || tracking > 2 ||
      options >> 12 != 0) {
    return Error(ErrorCode::kInvalidArgument,
                 str("resource options 0x", std::hex, options,
                     ", expected a storage mode Shared, Managed or Private, a cache mode and a "
                     "hazard tracking mode"));
  }
  return {};
}

BufferObject::~BufferObject() {
  if (heap && !aliasable) heap->give_back(heapOffset, length);
}

std::byte* BufferObject::host() const {
  if (storage_mode(resourceOptions) == MTL::StorageModePrivate || !memory->host) return nullptr;
  return memory->host + offset;
}

namespace {

Status check_length(const DeviceObject& device, uint64_t length, MTL::ResourceOptions options) {
  MLXN_TRY(check_options(options));
  const uint64_t most = device.info().max_buffer_length;
  if (length == 0 || length > most) {
    return Error(ErrorCode::kOutOfRange, str("length ", length, ", expected 1 to ", most));
  }
  return {};
}

Ref<BufferObject> make_buffer(DeviceObject* device, std::shared_ptr<Memory> memory, uint64_t length,
                              MTL::ResourceOptions options) {
  auto buffer = make<BufferObject>();
  buffer->device = Ref(device);
  buffer->life->storage = memory;
  buffer->memory = std::move(memory);
  buffer->length = length;
  buffer->resourceOptions = options;
  return buffer;
}

Result<Ref<BufferObject>> create_buffer(DeviceObject* device, uint64_t length,
                                        MTL::ResourceOptions options) {
  MLXN_TRY(check_length(*device, length, options));
  MLXN_ASSIGN(auto memory, device->executor().allocate(length, storage_of(options)));
  return make_buffer(device, std::move(memory), length, options);
}

Status require_shared(MTL::ResourceOptions options) {
  if (storage_mode(options) != MTL::StorageModePrivate) return {};
  return Error(ErrorCode::kInvalidArgument,
               "storage mode Private, expected Shared or Managed for memory the host fills");
}

Result<Ref<BufferObject>> create_filled(DeviceObject* device, const void* bytes, uint64_t length,
                                        MTL::ResourceOptions options) {
  if (!bytes) return Error(ErrorCode::kInvalidArgument, "null pointer, expected the bytes to copy");
  MLXN_TRY(require_shared(options));
  MLXN_ASSIGN(auto buffer, create_buffer(device, length, options));
  std::memcpy(buffer->memory->host, bytes, length);
  return buffer;
}

using Deallocator = NS::detail::HandlerFunction<void(void*, NS::UInteger)>;

Result<Ref<BufferObject>> create_wrapping(DeviceObject* device, void* bytes, uint64_t length,
                                          MTL::ResourceOptions options,
                                          const Deallocator& deallocator) {
  MLXN_TRY(check_length(*device, length, options));
  MLXN_TRY(require_shared(options));
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const bool pages = reinterpret_cast<uintptr_t>(bytes) % page == 0 && length % page == 0;
  if (!bytes || (device->validates() && !pages)) {
    return Error(ErrorCode::kInvalidArgument,
                 str("memory at ", bytes, " with length ", length,
                     ", expected a page-aligned address and length (pages of ", page, " bytes)"));
  }
  MLXN_ASSIGN(auto inner, device->executor().wrap(bytes, length));
  // The deallocator runs after the executor has let go of the memory.
  Memory* raw = inner.get();
  std::shared_ptr<Memory> memory(raw, [inner, deallocator, bytes, length](Memory*) mutable {
    inner.reset();
    if (deallocator) deallocator(bytes, length);
  });
  inner.reset();
  return make_buffer(device, std::move(memory), length, options);
}

MTL::Buffer* finish(const char* call, Result<Ref<BufferObject>> buffer) {
  if (buffer) return owned(std::move(*buffer));
  report(call, buffer.error().message());
  return nullptr;
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

NS::UInteger Allocation::allocatedSize() const {
  auto* self = impl(this);
  return self ? self->allocated_size() : 0;
}

NS::UInteger Resource::allocatedSize() const {
  return Allocation::allocatedSize();
}

MLXN_OBJECT_GETTER(Resource, Device, device)
MLXN_LABEL(Resource, label, setLabel)
MLXN_GETTER(Resource, ResourceOptions, resourceOptions)
MLXN_OBJECT_GETTER(Resource, Heap, heap)
MLXN_GETTER(Resource, NS::UInteger, heapOffset)

CPUCacheMode Resource::cpuCacheMode() const {
  return static_cast<CPUCacheMode>(resourceOptions() & 0xf);
}
StorageMode Resource::storageMode() const {
  return storage_mode(resourceOptions());
}
HazardTrackingMode Resource::hazardTrackingMode() const {
  return static_cast<HazardTrackingMode>(resourceOptions() >> 8 & 0xf);
}

PurgeableState Resource::setPurgeableState(PurgeableState state) {
  auto* self = impl(this);
  if (!self) return PurgeableState();
  const PurgeableState old = self->purgeable;
  if (state != PurgeableStateKeepCurrent) self->purgeable = state;
  return old;
}

bool Resource::isAliasable() {
  auto* self = impl(this);
  return self && self->aliasable;
}

void Resource::makeAliasable() {
  auto* self = impl(this);
  if (!self || self->aliasable) return;
  if (!self->heap) {
    report("MTL::Resource::makeAliasable", "the resource was not made from a heap");
    return;
  }
  self->aliasable = true;
  self->heap->give_back(self->heapOffset, self->allocated_size());
}

NS::UInteger Buffer::length() const {
  auto* self = impl(this);
  return self ? self->length : 0;
}

void* Buffer::contents() {
  auto* self = impl(this);
  return self ? self->host() : nullptr;
}

GPUAddress Buffer::gpuAddress() const {
  auto* self = impl(this);
  return self ? self->address() : 0;
}

void Buffer::didModifyRange(NS::Range range) {
  auto* self = impl(this);
  if (self && !mlxn::span_fits(range.location, range.length, self->length)) {
    report("MTL::Buffer::didModifyRange",
           mlxn::str("range ", range.location, " + ", range.length,
                     ", expected to end within the length ", self->length));
  }
}

void Buffer::addDebugMarker(const NS::String*, NS::Range range) {
  auto* self = impl(this);
  if (self && !mlxn::span_fits(range.location, range.length, self->length)) {
    report("MTL::Buffer::addDebugMarker",
           mlxn::str("range ", range.location, " + ", range.length,
                     ", expected to end within the length ", self->length));
  }
}

void Buffer::removeAllDebugMarkers() {}

Buffer* Device::newBuffer(NS::UInteger length, ResourceOptions options) {
  auto* self = impl(this);
  return self ? finish("MTL::Device::newBuffer", create_buffer(self, length, options)) : nullptr;
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newBuffer", create_filled(self, pointer, length, options));
}

Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                          const Deallocator& deallocator) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Device::newBuffer",
                create_wrapping(self, const_cast<void*>(pointer), length, options, deallocator));
}

}  // namespace MTL
