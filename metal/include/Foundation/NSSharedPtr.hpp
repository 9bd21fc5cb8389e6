#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "NSObject.hpp"

namespace NS {

// Owns one reference. Unlike the raw calls it never touches a null pointee.
template <class _Class>
class SharedPtr {
  template <class _Other>
  using IfConvertible = std::enable_if_t<std::is_convertible_v<_Other*, _Class*>>;

 public:
  SharedPtr() = default;
  SharedPtr(std::nullptr_t) noexcept {}
  SharedPtr(const SharedPtr& other) noexcept : m_pObject(retained(other.m_pObject)) {}
  SharedPtr(SharedPtr&& other) noexcept : m_pObject(std::exchange(other.m_pObject, nullptr)) {}
  template <class _Other, class = IfConvertible<_Other>>
  SharedPtr(const SharedPtr<_Other>& other) noexcept : m_pObject(retained(other.get())) {}
  template <class _Other, class = IfConvertible<_Other>>
  SharedPtr(SharedPtr<_Other>&& other) noexcept : m_pObject(other.get()) {
    other.detach();
  }
  ~SharedPtr() { reset(); }

  SharedPtr& operator=(const SharedPtr& other) {
    SharedPtr(other).swap(*this);
    return *this;
  }
  SharedPtr& operator=(SharedPtr&& other) {
    SharedPtr(std::move(other)).swap(*this);
    return *this;
  }
  template <class _Other, class = IfConvertible<_Other>>
  SharedPtr& operator=(const SharedPtr<_Other>& other) {
    SharedPtr(other).swap(*this);
    return *this;
  }
  template <class _Other, class = IfConvertible<_Other>>
  SharedPtr& operator=(SharedPtr<_Other>&& other) {
    SharedPtr(std::move(other)).swap(*this);
    return *this;
  }

  _Class* get() const { return m_pObject; }
  _Class* operator->() const { return m_pObject; }
  explicit operator bool() const { return m_pObject != nullptr; }

  void reset() {
    if (m_pObject) m_pObject->release();
    m_pObject = nullptr;
  }
  // Gives the reference up without releasing it.
  void detach() { m_pObject = nullptr; }

  template <class _Other>
  friend SharedPtr<_Other> RetainPtr(_Other* pObject);
  template <class _Other>
  friend SharedPtr<_Other> TransferPtr(_Other* pObject);

 private:
  static _Class* retained(_Class* pObject) {
    if (pObject) pObject->retain();
    return pObject;
  }
  void swap(SharedPtr& other) { std::swap(m_pObject, other.m_pObject); }

  _Class* m_pObject = nullptr;
};

// Takes a new reference of its own.
template <class _Class>
SharedPtr<_Class> RetainPtr(_Class* pObject) {
  SharedPtr<_Class> result;
  result.m_pObject = SharedPtr<_Class>::retained(pObject);
  return result;
}

// Takes over the caller's reference.
template <class _Class>
SharedPtr<_Class> TransferPtr(_Class* pObject) {
  SharedPtr<_Class> result;
  result.m_pObject = pObject;
  return result;
}

template <class _Left, class _Right>
bool operator==(const SharedPtr<_Left>& left, const SharedPtr<_Right>& right) {
  return left.get() == right.get();
}
template <class _Left, class _Right>
bool operator!=(const SharedPtr<_Left>& left, const SharedPtr<_Right>& right) {
  return left.get() != right.get();
}

}  // namespace NS
