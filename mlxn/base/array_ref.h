#pragma once

#include <cstddef>
#include <initializer_list>
#include <iterator>

namespace mlxn {

// A borrowed list for function parameters: an array, a vector, or braces at the call. It must not
// outlive the call.
template <class T>
class ArrayRef {
 public:
  ArrayRef() = default;
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(std::initializer_list<T> list) : ArrayRef(list.begin(), list.size()) {}
  template <class Container>
    requires requires(const Container& c) {
      { std::data(c) } -> std::convertible_to<const T*>;
      std::size(c);
    }
  ArrayRef(const Container& container) : data_(std::data(container)), size_(std::size(container)) {}

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace mlxn
