// Buffers and heaps.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "metal/rt/device/device.h"
#include "metal/rt/foundation/property.h"

MLXN_RT_OBJECT(MTL::Allocation, AllocationObject)
MLXN_RT_OBJECT(MTL::Resource, ResourceObject)
MLXN_RT_OBJECT(MTL::Buffer, BufferObject)
MLXN_RT_OBJECT(MTL::Heap, HeapObject)
MLXN_RT_OBJECT(MTL::HeapDescriptor, HeapDescriptorObject)

namespace mlxn::rt {

// What remains of an object for command buffers that do not retain what they use: they see whether
// it is still there, can name it, and keep the memory or code behind it.
struct Life {
  std::string named(const char* kind) const;  // "buffer 'weights'", "buffer" without a label

  std::atomic<bool> alive = true;
  Label label;
  std::shared_ptr<const void> storage;
};

// What a residency set may hold.
class AllocationObject : public Object {
 public:
  using Api = MTL::Allocation;
  ~AllocationObject() override { life->alive = false; }
  virtual uint64_t allocated_size() const = 0;

  Ref<DeviceObject> device;
  const std::shared_ptr<Life> life = std::make_shared<Life>();
  Label& label = life->label;
  // The work (see command_buffer.h) that retained the object last.
  std::atomic<uint64_t> last_work = 0;
};

// Parts of MTL::ResourceOptions.
MTL::StorageMode storage_mode(MTL::ResourceOptions options);
Storage storage_of(MTL::ResourceOptions options);
// Fails when a bit has no meaning or the mode is not for buffers.
Status check_options(MTL::ResourceOptions options);

class ResourceObject : public AllocationObject {
 public:
  using Api = MTL::Resource;

  MTL::ResourceOptions resourceOptions = 0;
  MTL::PurgeableState purgeable = MTL::PurgeableStateNonVolatile;
  Ref<HeapObject> heap;
  NS::UInteger heapOffset = 0;
  bool aliasable = false;
};

class BufferObject : public ResourceObject {
 public:
  using Api = MTL::Buffer;
  ~BufferObject() override;
  uint64_t allocated_size() const override { return length; }
  std::byte* host() const;
  uint64_t address() const { return memory->device_address + offset; }

  std::shared_ptr<Memory> memory;
  uint64_t offset = 0;  // in memory; not zero in heaps
  uint64_t length = 0;
};

class HeapDescriptorObject : public Object {
 public:
  using Api = MTL::HeapDescriptor;
  MLXN_CLONEABLE(HeapDescriptorObject)
  MTL::ResourceOptions options() const;

  NS::UInteger size = 0;
  MTL::HeapType type = MTL::HeapTypeAutomatic;
  MTL::StorageMode storageMode = MTL::StorageModePrivate;
  MTL::CPUCacheMode cpuCacheMode = MTL::CPUCacheModeDefaultCache;
  MTL::HazardTrackingMode hazardTrackingMode = MTL::HazardTrackingModeDefault;
};

class HeapObject : public AllocationObject {
 public:
  using Api = MTL::Heap;
  uint64_t allocated_size() const override { return size; }

  // Takes the first free range that fits (automatic heaps).
  Result<uint64_t> take(uint64_t bytes);
  // Marks a range the caller chose; ranges of a placement heap may overlap.
  void place(uint64_t bytes);
  void give_back(uint64_t offset, uint64_t bytes);
  uint64_t used() const;
  uint64_t largest_free(uint64_t alignment) const;

  uint64_t size = 0;
  MTL::HeapType type = MTL::HeapTypeAutomatic;
  MTL::ResourceOptions resourceOptions = 0;
  MTL::PurgeableState purgeable = MTL::PurgeableStateNonVolatile;
  std::shared_ptr<Memory> memory;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> taken_;  // offset -> size
  uint64_t used_ = 0;
};

// Size and alignment of a buffer inside a heap.
inline constexpr uint64_t kHeapAlignment = 256;

}  // namespace mlxn::rt
