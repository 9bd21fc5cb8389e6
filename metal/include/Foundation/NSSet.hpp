#pragma once

#include "NSEnumerator.hpp"
#include "NSObject.hpp"

namespace NS {

// Immutable set; members are compared with isEqual.
class MLXN_METAL_API Set : public Copying<Set> {
 public:
  static Set* alloc();
  Set* init();
  Set* init(const Object* const* pObjects, UInteger count);

  UInteger count() const;
  Enumerator<Object>* objectEnumerator() const;
};

}  // namespace NS
