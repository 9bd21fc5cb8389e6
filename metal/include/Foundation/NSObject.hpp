#pragma once

#include <type_traits>

#include "NSTypes.hpp"

// The run time behind the templates below. Objects are opaque: a pointer to one of the classes of
// NS or MTL is a pointer to an object of the run time, and only the run time looks inside.
namespace NS::detail {
struct Root {};
MLXN_METAL_API void retain(const void* object);
MLXN_METAL_API void release(const void* object);
MLXN_METAL_API void autorelease(const void* object);
MLXN_METAL_API UInteger retainCount(const void* object);
MLXN_METAL_API void* copy(const void* object);
}  // namespace NS::detail

namespace NS {

template <class _Class, class _Base = class Object>
class Referencing : public _Base {
 public:
  _Class* retain() {
    detail::retain(this);
    return static_cast<_Class*>(this);
  }
  void release() { detail::release(this); }
  _Class* autorelease() {
    detail::autorelease(this);
    return static_cast<_Class*>(this);
  }
  UInteger retainCount() const { return detail::retainCount(this); }
};

template <class _Class, class _Base = class Object>
class Copying : public Referencing<_Class, _Base> {
 public:
  _Class* copy() const { return static_cast<_Class*>(detail::copy(this)); }
};

template <class _Class, class _Base = class Object>
class SecureCoding : public Referencing<_Class, _Base> {};

class MLXN_METAL_API Object : public Referencing<Object, detail::Root> {
 public:
  UInteger hash() const;
  bool isEqual(const Object* pObject) const;
  class String* description() const;
  class String* debugDescription() const;

 private:
  Object() = delete;
  Object(const Object&) = delete;
  ~Object() = delete;
  Object& operator=(const Object&) = delete;
};

}  // namespace NS
