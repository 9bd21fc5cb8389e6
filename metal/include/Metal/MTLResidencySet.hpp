#pragma once

#include <cstdint>

#include "MTLAllocation.hpp"

namespace MTL {

class Device;

class MLXN_METAL_API ResidencySetDescriptor : public NS::Copying<ResidencySetDescriptor> {
 public:
  static ResidencySetDescriptor* alloc();
  ResidencySetDescriptor* init();
  NS::String* label() const;
  void setLabel(const NS::String* label);
  NS::UInteger initialCapacity() const;
  void setInitialCapacity(NS::UInteger initialCapacity);
};

// Additions and removals take effect at commit(). The set retains its allocations.
class MLXN_METAL_API ResidencySet : public NS::Referencing<ResidencySet> {
 public:
  Device* device() const;
  NS::String* label() const;
  uint64_t allocatedSize() const;
  NS::UInteger allocationCount() const;
  NS::Array* allAllocations() const;
  bool containsAllocation(const MTL::Allocation* anAllocation);
  void addAllocation(const MTL::Allocation* allocation);
  void addAllocations(const MTL::Allocation* const allocations[], NS::UInteger count);
  void removeAllocation(const MTL::Allocation* allocation);
  void removeAllocations(const MTL::Allocation* const allocations[], NS::UInteger count);
  void removeAllAllocations();
  void commit();
  void requestResidency();
  void endResidency();
};

}  // namespace MTL
