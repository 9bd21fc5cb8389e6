// The object model behind NS and MTL. A pointer to a public class is a pointer to an rt::Object;
// the public classes have no members. Hierarchies are single and begin with Object, so that both
// views share one address.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "Foundation/Foundation.hpp"
#include "mlxn/base/recycled.h"

namespace mlxn::rt {

// Reference counted; starts with one reference, which belongs to whoever created it.
class Object {
 public:
  using Api = NS::Object;

  Object() = default;
  Object(const Object&) : references_(1) {}
  Object& operator=(const Object&) { return *this; }
  static void* operator new(size_t bytes) { return take_recycled(bytes); }
  static void operator delete(void* memory, size_t bytes) { give_back_recycled(memory, bytes); }

  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();
  uint64_t reference_count() const { return references_.load(std::memory_order_relaxed); }

  // A copy owned by the caller. Immutable objects give themselves.
  virtual Object* clone() const;
  virtual std::string description() const { return "<object>"; }
  virtual bool equals(const Object& other) const { return this == &other; }
  virtual uint64_t hash() const { return reinterpret_cast<uintptr_t>(this); }

 protected:
  virtual ~Object() = default;

 private:
  std::atomic<uint64_t> references_{1};
};

// Names the object class behind a public class; see MLXN_RT_OBJECT.
template <class Api>
struct ObjectOf;
template <>
struct ObjectOf<NS::Object> {
  using type = Object;
};

template <class Api>
auto* impl(const Api* pointer) {
  return reinterpret_cast<typename ObjectOf<Api>::type*>(const_cast<Api*>(pointer));
}

template <class T>
typename T::Api* api(const T* object) {
  return reinterpret_cast<typename T::Api*>(const_cast<T*>(object));
}

// One reference to an object.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
    requires(std::is_convertible_v<U*, T*> && !std::is_same_v<U, T>)
  Ref(const Ref<U>& other) : Ref(other.get()) {}
  ~Ref() {
    if (object_) object_->release();
  }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Hands the reference to the caller.
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

// Takes over the reference of a new object.
template <class T>
Ref<T> adopt(T* object) {
  Ref<T> result(object);
  if (object) object->release();
  return result;
}

template <class T, class... Args>
Ref<T> make(Args&&... args) {
  return adopt(new T(std::forward<Args>(args)...));
}

// Hands a new object to the caller of a "new" or "copy" function.
template <class T>
typename T::Api* owned(Ref<T> object) {
  return api(object.take());
}

// Adds the reference to the current thread's pool; without a pool it is leaked (a warning in
// debug).
void add_to_pool(Object* object);
bool has_pool();

template <class T>
typename T::Api* autoreleased(Ref<T> object) {
  T* pointer = object.take();
  if (pointer) add_to_pool(pointer);
  return api(pointer);
}

// For getters: the object outlives a change of the property when a pool is there, and never leaks.
template <class T>
typename T::Api* borrowed(const Ref<T>& object) {
  return has_pool() ? autoreleased(object) : api(object.get());
}

// A pool for threads of our own, which call handlers of the user.
class PoolScope {
 public:
  PoolScope() : pool_(NS::AutoreleasePool::alloc()->init()) {}
  ~PoolScope() { pool_->release(); }
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  NS::AutoreleasePool* pool_;
};

}  // namespace mlxn::rt

// Ties a public class to its object class. At global scope.
#define MLXN_RT_OBJECT(PublicClass, Class) \
  namespace mlxn::rt {                     \
  class Class;                             \
  template <>                              \
  struct ObjectOf<PublicClass> {           \
    using type = Class;                    \
  };                                       \
  }
