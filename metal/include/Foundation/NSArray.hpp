#pragma once

#include "NSEnumerator.hpp"
#include "NSObject.hpp"

namespace NS {

// Immutable list; retains what it holds. An index past the end gives null and a validation message.
class MLXN_METAL_API Array : public Copying<Array> {
 public:
  static Array* array();
  static Array* array(const Object* pObject);
  static Array* array(const Object* const* pObjects, UInteger count);

  static Array* alloc();
  Array* init();
  Array* init(const Object* const* pObjects, UInteger count);

  template <class _Object = Object>
  _Object* object(UInteger index) const {
    return reinterpret_cast<_Object*>(objectAt(index));
  }
  UInteger count() const;
  Enumerator<Object>* objectEnumerator() const;

 private:
  Object* objectAt(UInteger index) const;
};

}  // namespace NS
