// metal_array, metal_uniform, metal_logging.
#pragma once
#pragma clang system_header

namespace metal {

template <class T, size_t N>
struct array {
  using value_type = T;
  using size_type = size_t;
  T __elements[N == 0 ? 1 : N];

  __MSL_MEMBER T& operator[](size_t i) { return __elements[i]; }
  __MSL_MEMBER const T& operator[](size_t i) const { return __elements[i]; }
  __MSL_MEMBER T& at(size_t i) { return __elements[i]; }
  __MSL_MEMBER const T& at(size_t i) const { return __elements[i]; }
  __MSL_MEMBER T& front() { return __elements[0]; }
  __MSL_MEMBER const T& front() const { return __elements[0]; }
  __MSL_MEMBER T& back() { return __elements[N - 1]; }
  __MSL_MEMBER const T& back() const { return __elements[N - 1]; }
  __MSL_MEMBER T* data() { return __elements; }
  __MSL_MEMBER const T* data() const { return __elements; }
  __MSL_MEMBER T* begin() { return __elements; }
  __MSL_MEMBER const T* begin() const { return __elements; }
  __MSL_MEMBER const T* cbegin() const { return __elements; }
  __MSL_MEMBER T* end() { return __elements + N; }
  __MSL_MEMBER const T* end() const { return __elements + N; }
  __MSL_MEMBER const T* cend() const { return __elements + N; }
  static __MSL_MEMBER size_t size() { return N; }
  static __MSL_MEMBER size_t max_size() { return N; }
  static __MSL_MEMBER bool empty() { return N == 0; }
  __MSL_MEMBER void fill(const T& value) {
    for (size_t i = 0; i < N; ++i) __elements[i] = value;
  }
};

// A run of elements held elsewhere.
template <class T>
struct array_ref {
  __MSL_MEMBER array_ref() : data_(nullptr), size_(0) {}
  __MSL_MEMBER array_ref(T* data, size_t size) : data_(data), size_(size) {}
  template <class U, size_t N>
  __MSL_MEMBER array_ref(array<U, N>& a) : data_(a.data()), size_(N) {}
  template <class U, size_t N>
  __MSL_MEMBER array_ref(const array<U, N>& a) : data_(a.data()), size_(N) {}
  __MSL_MEMBER T& operator[](size_t i) const { return data_[i]; }
  __MSL_MEMBER T* data() const { return data_; }
  __MSL_MEMBER T* begin() const { return data_; }
  __MSL_MEMBER T* end() const { return data_ + size_; }
  __MSL_MEMBER size_t size() const { return size_; }
  __MSL_MEMBER bool empty() const { return size_ == 0; }

 private:
  T* data_;
  size_t size_;
};

// A value promised to be the same in all threads; here a plain value.
template <class T>
struct uniform {
  __MSL_MEMBER uniform(T value) : value_(value) {}
  __MSL_MEMBER operator T() const { return value_; }

 private:
  T value_;
};
template <class T>
__MSL_CONSTEXPR_FN uniform<T> make_uniform(T value) {
  return uniform<T>(value);
}

// Logging is accepted and has no effect.
struct os_log {
  constexpr os_log(const char*, const char*) {}
  template <class... A>
  __MSL_FN void log(A...) const {}
  template <class... A>
  __MSL_FN void log_debug(A...) const {}
  template <class... A>
  __MSL_FN void log_info(A...) const {}
  template <class... A>
  __MSL_FN void log_error(A...) const {}
  template <class... A>
  __MSL_FN void log_fault(A...) const {}
};
inline constexpr os_log os_log_default("", "");

// Number of components; one for scalars.
template <class T>
struct vec_elements : integral_constant<uint, ::__msl::vector_of<T>::size> {};

}  // namespace metal
