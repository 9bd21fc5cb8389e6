// MTL::HeapDescriptor, Heap, and the heap functions of Device.
#include <algorithm>

#include "metal/rt/device/validation.h"
#include "metal/rt/foundation/property.h"
#include "metal/rt/memory/resource.h"
#include "mlxn/base/checked.h"

namespace mlxn::rt {
namespace {

uint64_t rounded(uint64_t value, uint64_t alignment) {
  return checked_align_up(value, alignment).value_or(UINT64_MAX);
}

}  // namespace

MTL::ResourceOptions HeapDescriptorObject::options() const {
  return cpuCacheMode | storageMode << 4 | hazardTrackingMode << 8;
}

Result<uint64_t> HeapObject::take(uint64_t bytes) {
  const uint64_t need = rounded(bytes, kHeapAlignment);
  std::lock_guard lock(mutex_);
  uint64_t start = 0;
  for (auto& [offset, length] : taken_) {
    if (offset - start >= need) break;
    start = offset + length;
  }
  if (!span_fits(start, need, size)) {
    return Error(ErrorCode::kOutOfMemory, str("length ", bytes, " does not fit: the heap has ",
                                              size, " bytes, of which ", used_, " are used"));
  }
  taken_[start] = need;
  used_ += need;
  return start;
}

void HeapObject::place(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  used_ += rounded(bytes, kHeapAlignment);
}

void HeapObject::give_back(uint64_t offset, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (type == MTL::HeapTypeAutomatic) taken_.erase(offset);
  used_ -= rounded(bytes, kHeapAlignment);
}

uint64_t HeapObject::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

uint64_t HeapObject::largest_free(uint64_t alignment) const {
  std::lock_guard lock(mutex_);
  uint64_t start = 0, best = 0;
  auto consider = [&](uint64_t end) {
    const uint64_t first = rounded(start, alignment);
    if (first < end) best = std::max(best, end - first);
  };
  for (auto& [offset, length] : taken_) {
    consider(offset);
    start = offset + length;
  }
  consider(size);
  return best;
}

namespace {

Ref<BufferObject> make_buffer(HeapObject* heap, uint64_t length, MTL::ResourceOptions options,
                              uint64_t offset) {
  auto buffer = make<BufferObject>();
  buffer->device = heap->device;
  buffer->memory = heap->memory;
  buffer->life->storage = heap->memory;
  buffer->offset = offset;
  buffer->length = length;
  buffer->resourceOptions = options;
  buffer->heap = Ref(heap);
  buffer->heapOffset = offset;
  return buffer;
}

Status check_buffer(const HeapObject& heap, uint64_t length, MTL::ResourceOptions options,
                    MTL::HeapType type) {
  MLXN_TRY(check_options(options));
  if (heap.type != type) {
    return Error(ErrorCode::kInvalidState, type == MTL::HeapTypePlacement
                                               ? "an offset needs a heap of type Placement"
                                               : "a heap of type Placement needs an offset");
  }
  if (storage_mode(options) != storage_mode(heap.resourceOptions)) {
    return Error(ErrorCode::kInvalidArgument,
                 str("storage mode ", storage_mode(options), ", expected ",
                     storage_mode(heap.resourceOptions), " as of the heap"));
  }
  if (length == 0) return Error(ErrorCode::kOutOfRange, "length 0, expected at least 1");
  return {};
}

Result<Ref<BufferObject>> create_automatic(HeapObject* heap, uint64_t length,
                                           MTL::ResourceOptions options) {
  MLXN_TRY(check_buffer(*heap, length, options, MTL::HeapTypeAutomatic));
  MLXN_ASSIGN(const uint64_t offset, heap->take(length));
  auto buffer = make_buffer(heap, length, options, offset);
  // Guards stand around allocations, so each buffer is one then.
  Executor& executor = heap->device->executor();
  if (executor.info().guards_memory) {
    MLXN_ASSIGN(buffer->memory, executor.allocate(length, storage_of(options)));
    buffer->life->storage = buffer->memory;
    buffer->offset = 0;
  }
  return buffer;
}

Result<Ref<BufferObject>> create_placed(HeapObject* heap, uint64_t length,
                                        MTL::ResourceOptions options, uint64_t offset) {
  MLXN_TRY(check_buffer(*heap, length, options, MTL::HeapTypePlacement));
  if (offset % kHeapAlignment != 0 || !span_fits(offset, length, heap->size)) {
    return Error(ErrorCode::kOutOfRange,
                 str("offset ", offset, " with length ", length, ", expected a multiple of ",
                     kHeapAlignment, " and an end within the heap's ", heap->size, " bytes"));
  }
  heap->place(length);
  return make_buffer(heap, length, options, offset);
}

Result<Ref<HeapObject>> create_heap(DeviceObject* device, const HeapDescriptorObject* descriptor) {
  if (!descriptor) return Error(ErrorCode::kInvalidArgument, "null descriptor");
  MLXN_TRY(check_options(descriptor->options()));
  if (descriptor->type != MTL::HeapTypeAutomatic && descriptor->type != MTL::HeapTypePlacement) {
    return Error(ErrorCode::kUnsupported, str("heap type ", static_cast<long>(descriptor->type),
                                              ", expected Automatic (0) or Placement (1)"));
  }
  const uint64_t most = device->info().max_buffer_length;
  if (descriptor->size == 0 || descriptor->size > most) {
    return Error(ErrorCode::kOutOfRange, str("size ", descriptor->size, ", expected 1 to ", most));
  }
  MLXN_ASSIGN(auto memory, device->executor().allocate(rounded(descriptor->size, kHeapAlignment),
                                                       storage_of(descriptor->options())));
  auto heap = make<HeapObject>();
  heap->device = Ref(device);
  heap->size = memory->size;
  heap->type = descriptor->type;
  heap->resourceOptions = descriptor->options();
  heap->life->storage = memory;
  heap->memory = std::move(memory);
  return heap;
}

template <class T>
typename T::Api* finish(const char* call, Result<Ref<T>> object) {
  if (object) return owned(std::move(*object));
  report(call, object.error().message());
  return nullptr;
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(HeapDescriptor)
MLXN_VALUE(HeapDescriptor, NS::UInteger, size, setSize)
MLXN_VALUE(HeapDescriptor, HeapType, type, setType)
MLXN_VALUE(HeapDescriptor, StorageMode, storageMode, setStorageMode)
MLXN_VALUE(HeapDescriptor, CPUCacheMode, cpuCacheMode, setCpuCacheMode)
MLXN_VALUE(HeapDescriptor, HazardTrackingMode, hazardTrackingMode, setHazardTrackingMode)

ResourceOptions HeapDescriptor::resourceOptions() const {
  auto* self = impl(this);
  return self ? self->options() : 0;
}

void HeapDescriptor::setResourceOptions(ResourceOptions options) {
  setCpuCacheMode(static_cast<CPUCacheMode>(options & 0xf));
  setStorageMode(storage_mode(options));
  setHazardTrackingMode(static_cast<HazardTrackingMode>(options >> 8 & 0xf));
}

MLXN_OBJECT_GETTER(Heap, Device, device)
MLXN_LABEL(Heap, label, setLabel)
MLXN_GETTER(Heap, HeapType, type)
MLXN_GETTER(Heap, ResourceOptions, resourceOptions)
MLXN_GETTER(Heap, NS::UInteger, size)

StorageMode Heap::storageMode() const {
  return storage_mode(resourceOptions());
}
CPUCacheMode Heap::cpuCacheMode() const {
  return static_cast<CPUCacheMode>(resourceOptions() & 0xf);
}
HazardTrackingMode Heap::hazardTrackingMode() const {
  return static_cast<HazardTrackingMode>(resourceOptions() >> 8 & 0xf);
}

PurgeableState Heap::setPurgeableState(PurgeableState state) {
  auto* self = impl(this);
  if (!self) return PurgeableState();
  const PurgeableState old = self->purgeable;
  if (state != PurgeableStateKeepCurrent) self->purgeable = state;
  return old;
}

NS::UInteger Heap::usedSize() const {
  auto* self = impl(this);
  return self ? self->used() : 0;
}

NS::UInteger Heap::currentAllocatedSize() const {
  return size();
}

NS::UInteger Heap::maxAvailableSize(NS::UInteger alignment) {
  auto* self = impl(this);
  if (!self) return 0;
  if (!std::has_single_bit(alignment)) {
    report("MTL::Heap::maxAvailableSize",
           mlxn::str("alignment ", alignment, ", expected a power of two"));
    return 0;
  }
  return self->largest_free(std::max(alignment, kHeapAlignment));
}

Buffer* Heap::newBuffer(NS::UInteger length, ResourceOptions options) {
  auto* self = impl(this);
  return self ? finish("MTL::Heap::newBuffer", create_automatic(self, length, options)) : nullptr;
}

Buffer* Heap::newBuffer(NS::UInteger length, ResourceOptions options, NS::UInteger offset) {
  auto* self = impl(this);
  if (!self) return nullptr;
  return finish("MTL::Heap::newBuffer", create_placed(self, length, options, offset));
}

Heap* Device::newHeap(const HeapDescriptor* descriptor) {
  auto* self = impl(this);
  return self ? finish("MTL::Device::newHeap", create_heap(self, impl(descriptor))) : nullptr;
}

SizeAndAlign Device::heapBufferSizeAndAlign(NS::UInteger length, ResourceOptions) {
  return {mlxn::checked_align_up<uint64_t>(length, kHeapAlignment).value_or(0), kHeapAlignment};
}

}  // namespace MTL
