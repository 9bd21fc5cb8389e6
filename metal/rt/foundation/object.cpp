#include "metal/rt/foundation/object.h"

#include "metal/rt/foundation/foundation.h"

namespace mlxn::rt {

void Object::release() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

Object* Object::clone() const {
  auto* self = const_cast<Object*>(this);
  self->retain();
  return self;
}

}  // namespace mlxn::rt

namespace NS {
namespace detail {

using mlxn::rt::Object;

static Object* object_at(const void* pointer) {
  return static_cast<Object*>(const_cast<void*>(pointer));
}

void retain(const void* object) {
  if (object) object_at(object)->retain();
}
void release(const void* object) {
  if (object) object_at(object)->release();
}
void autorelease(const void* object) {
  if (object) mlxn::rt::add_to_pool(object_at(object));
}
UInteger retainCount(const void* object) {
  return object ? object_at(object)->reference_count() : 0;
}
void* copy(const void* object) {
  return object ? object_at(object)->clone() : nullptr;
}

}  // namespace detail

using mlxn::rt::impl;

UInteger Object::hash() const {
  auto* self = impl(this);
  return self ? self->hash() : 0;
}

bool Object::isEqual(const Object* pObject) const {
  auto *self = impl(this), *other = impl(pObject);
  return self && other && (self == other || self->equals(*other));
}

String* Object::description() const {
  auto* self = impl(this);
  return self ? mlxn::rt::autoreleased(mlxn::rt::make_string(self->description())) : nullptr;
}

String* Object::debugDescription() const {
  return description();
}

}  // namespace NS
