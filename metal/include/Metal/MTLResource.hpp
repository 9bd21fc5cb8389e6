#pragma once

#include "MTLAllocation.hpp"

namespace MTL {

class Device;
class Heap;

enum PurgeableState : NS::UInteger {
  PurgeableStateKeepCurrent = 1,
  PurgeableStateNonVolatile = 2,
  PurgeableStateVolatile = 3,
  PurgeableStateEmpty = 4,
};

enum CPUCacheMode : NS::UInteger {
  CPUCacheModeDefaultCache = 0,
  CPUCacheModeWriteCombined = 1,
};

enum StorageMode : NS::UInteger {
  StorageModeShared = 0,
  StorageModeManaged = 1,
  StorageModePrivate = 2,
  StorageModeMemoryless = 3,
};

enum HazardTrackingMode : NS::UInteger {
  HazardTrackingModeDefault = 0,
  HazardTrackingModeUntracked = 1,
  HazardTrackingModeTracked = 2,
};

using ResourceOptions = NS::UInteger;
enum : ResourceOptions {
  ResourceCPUCacheModeDefaultCache = 0,
  ResourceCPUCacheModeWriteCombined = 1,
  ResourceStorageModeShared = 0,
  ResourceStorageModeManaged = 1 << 4,
  ResourceStorageModePrivate = 1 << 5,
  ResourceStorageModeMemoryless = 1 << 5,  // metal-cpp gives it the value of Private
  ResourceHazardTrackingModeDefault = 0,
  ResourceHazardTrackingModeUntracked = 1 << 8,
  ResourceHazardTrackingModeTracked = 1 << 9,
  ResourceOptionCPUCacheModeDefault = 0,
  ResourceOptionCPUCacheModeWriteCombined = 1,
};

class MLXN_METAL_API Resource : public NS::Referencing<Resource, Allocation> {
 public:
  NS::UInteger allocatedSize() const;
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);

  CPUCacheMode cpuCacheMode() const;
  StorageMode storageMode() const;
  HazardTrackingMode hazardTrackingMode() const;
  ResourceOptions resourceOptions() const;

  // Purgeable memory is never taken away here; the call only reports the state that was set before.
  PurgeableState setPurgeableState(MTL::PurgeableState state);

  Heap* heap() const;
  NS::UInteger heapOffset() const;
  bool isAliasable();
  void makeAliasable();
};

}  // namespace MTL
