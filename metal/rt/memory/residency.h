#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "metal/rt/device/device.h"
#include "metal/rt/foundation/property.h"

MLXN_RT_OBJECT(MTL::ResidencySetDescriptor, ResidencySetDescriptorObject)
MLXN_RT_OBJECT(MTL::ResidencySet, ResidencySetObject)

namespace mlxn::rt {

class AllocationObject;

class ResidencySetDescriptorObject : public Object {
 public:
  using Api = MTL::ResidencySetDescriptor;
  MLXN_CLONEABLE(ResidencySetDescriptorObject)
  Label label;
  NS::UInteger initialCapacity = 0;
};

// All memory is resident here; the set keeps its allocations alive and answers for their number and
// size. Additions and removals count from commit on.
class ResidencySetObject : public Object {
 public:
  using Api = MTL::ResidencySet;
  using List = std::vector<Ref<AllocationObject>>;

  void add(AllocationObject* allocation);
  void remove(AllocationObject* allocation);
  void remove_all();
  void commit();
  List committed() const;
  bool contains(const AllocationObject* allocation) const;

  Ref<DeviceObject> device;
  Label label;

 private:
  using Members = std::unordered_map<const AllocationObject*, Ref<AllocationObject>>;

  mutable std::mutex mutex_;
  Members pending_, committed_;
  // Added or removed since the last commit, so that it costs what changed and not what is there.
  std::vector<const AllocationObject*> changed_;
};

// The sets attached to a queue or command buffer.
class ResidencyList {
 public:
  void add(const char* call, const MTL::ResidencySet* const sets[], NS::UInteger count);
  void remove(const MTL::ResidencySet* const sets[], NS::UInteger count);

 private:
  std::mutex mutex_;
  std::vector<Ref<ResidencySetObject>> sets_;
};

}  // namespace mlxn::rt
