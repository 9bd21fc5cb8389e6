#pragma once

#include "MTLGPUAddress.hpp"
#include "MTLResource.hpp"

namespace MTL {

class MLXN_METAL_API Buffer : public NS::Referencing<Buffer, Resource> {
 public:
  NS::UInteger length() const;
  void* contents();  // null for StorageModePrivate
  GPUAddress gpuAddress() const;
  void didModifyRange(NS::Range range);  // memory is coherent: checks the range only
  void addDebugMarker(const NS::String* marker, NS::Range range);
  void removeAllDebugMarkers();
};

}  // namespace MTL
