// Short forms for the getters and setters of public classes. The object class has a member named
// like the getter, public. A call on null reads zero and writes nothing.
#pragma once

#include "metal/rt/foundation/foundation.h"

#define MLXN_GETTER(Class, Type, getter)                    \
  Type Class::getter() const {                              \
    auto* self = ::mlxn::rt::impl(this);                    \
    return self ? static_cast<Type>(self->getter) : Type(); \
  }

#define MLXN_VALUE(Class, Type, getter, setter)                    \
  MLXN_GETTER(Class, Type, getter)                                 \
  void Class::setter(Type value) {                                 \
    if (auto* self = ::mlxn::rt::impl(this)) self->getter = value; \
  }

// A Ref<> member.
#define MLXN_OBJECT_GETTER(Class, Type, getter)                 \
  Type* Class::getter() const {                                 \
    auto* self = ::mlxn::rt::impl(this);                        \
    return self ? ::mlxn::rt::borrowed(self->getter) : nullptr; \
  }

#define MLXN_OBJECT(Class, Type, getter, setter)               \
  MLXN_OBJECT_GETTER(Class, Type, getter)                      \
  void Class::setter(const Type* value) {                      \
    if (auto* self = ::mlxn::rt::impl(this))                   \
      self->getter = ::mlxn::rt::Ref(::mlxn::rt::impl(value)); \
  }

// A Label member.
#define MLXN_LABEL_GETTER(Class, getter)                              \
  NS::String* Class::getter() const {                                 \
    auto* self = ::mlxn::rt::impl(this);                              \
    return self ? ::mlxn::rt::borrowed(self->getter.get()) : nullptr; \
  }

#define MLXN_LABEL(Class, getter, setter)                         \
  MLXN_LABEL_GETTER(Class, getter)                                \
  void Class::setter(const NS::String* value) {                   \
    if (auto* self = ::mlxn::rt::impl(this))                      \
      self->getter.set(::mlxn::rt::Ref(::mlxn::rt::impl(value))); \
  }

// alloc and a plain init.
#define MLXN_ALLOC(Class)                                          \
  Class* Class::alloc() {                                          \
    return ::mlxn::rt::api(new ::mlxn::rt::ObjectOf<Class>::type); \
  }                                                                \
  Class* Class::init() {                                           \
    return this;                                                   \
  }

// Inside an object class of a mutable descriptor: copy() copies all members.
#define MLXN_CLONEABLE(Class)      \
  Object* clone() const override { \
    return new Class(*this);       \
  }
