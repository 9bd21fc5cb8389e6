#pragma once

#include "NSObject.hpp"

namespace NS {

// Pools nest per thread. release() and drain() release what was added since init(), also of pools
// made later on the same thread and still open. An object autoreleased without a pool is leaked.
class MLXN_METAL_API AutoreleasePool : public Object {
 public:
  static AutoreleasePool* alloc();
  AutoreleasePool* init();
  void drain();
  void addObject(Object* pObject);
  static void showPools();
};

}  // namespace NS
