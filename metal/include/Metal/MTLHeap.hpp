#pragma once

#include "MTLResource.hpp"

namespace MTL {

class Buffer;

enum HeapType : NS::Integer {
  HeapTypeAutomatic = 0,
  HeapTypePlacement = 1,
  HeapTypeSparse = 2,
};

class MLXN_METAL_API HeapDescriptor : public NS::Copying<HeapDescriptor> {
 public:
  static HeapDescriptor* alloc();
  HeapDescriptor* init();

  NS::UInteger size() const;
  void setSize(NS::UInteger size);
  HeapType type() const;
  void setType(MTL::HeapType type);
  StorageMode storageMode() const;
  void setStorageMode(MTL::StorageMode storageMode);
  CPUCacheMode cpuCacheMode() const;
  void setCpuCacheMode(MTL::CPUCacheMode cpuCacheMode);
  HazardTrackingMode hazardTrackingMode() const;
  void setHazardTrackingMode(MTL::HazardTrackingMode hazardTrackingMode);
  ResourceOptions resourceOptions() const;
  void setResourceOptions(MTL::ResourceOptions resourceOptions);
};

class MLXN_METAL_API Heap : public NS::Referencing<Heap, Allocation> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);

  HeapType type() const;
  StorageMode storageMode() const;
  CPUCacheMode cpuCacheMode() const;
  HazardTrackingMode hazardTrackingMode() const;
  ResourceOptions resourceOptions() const;
  PurgeableState setPurgeableState(MTL::PurgeableState state);

  NS::UInteger size() const;
  NS::UInteger usedSize() const;
  NS::UInteger currentAllocatedSize() const;
  NS::UInteger maxAvailableSize(NS::UInteger alignment);

  Buffer* newBuffer(NS::UInteger length, MTL::ResourceOptions options);
  Buffer* newBuffer(NS::UInteger length, MTL::ResourceOptions options, NS::UInteger offset);
};

}  // namespace MTL
