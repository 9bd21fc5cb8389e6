#pragma once

#include "NSObject.hpp"

namespace NS {

struct FastEnumerationState {
  unsigned long state;
  Object** itemsPtr;
  unsigned long* mutationsPtr;
  unsigned long extra[5];
} MLXN_METAL_PACKED;

class MLXN_METAL_API FastEnumeration : public Referencing<FastEnumeration> {
 public:
  UInteger countByEnumerating(FastEnumerationState* pState, Object** pBuffer, UInteger len);
};

class Array;

namespace detail {
MLXN_METAL_API Object* nextObject(void* pEnumerator);
MLXN_METAL_API Array* allObjects(void* pEnumerator);
}  // namespace detail

template <class _ObjectType>
class Enumerator : public Referencing<Enumerator<_ObjectType>, FastEnumeration> {
 public:
  _ObjectType* nextObject() { return reinterpret_cast<_ObjectType*>(detail::nextObject(this)); }
  Array* allObjects() { return detail::allObjects(this); }
};

}  // namespace NS
