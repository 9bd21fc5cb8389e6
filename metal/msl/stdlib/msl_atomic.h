// metal_atomic. One implementation for device and threadgroup memory; the operations themselves are
// relaxed, a stronger order adds fences around them.
#pragma once
#pragma clang system_header

namespace metal {

template <class T>
struct atomic {
  T __s;
  atomic() = default;
  constexpr atomic(T value) : __s(value) {}
};
template <class T>
using _atomic = atomic<T>;

using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_bool = atomic<bool>;
using atomic_float = atomic<float>;
using atomic_long = atomic<long>;
using atomic_ulong = atomic<ulong>;

}  // namespace metal

using metal::atomic_bool;
using metal::atomic_float;
using metal::atomic_int;
using metal::atomic_long;
using metal::atomic_uint;
using metal::atomic_ulong;

namespace __msl {
// Keeps a parameter from taking part in deduction.
template <class T>
struct identity {
  using type = T;
};
template <class T>
using identity_t = typename identity<T>::type;

__MSL_FN void fence(metal::memory_order order) {
  if (order != metal::memory_order_relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
}  // namespace __msl

namespace metal {

template <class T>
__MSL_FN T atomic_load_explicit(const volatile atomic<T>* object, memory_order order) {
  T value;
  ::__msl::fence(order);
  __atomic_load(&object->__s, &value, __ATOMIC_RELAXED);
  ::__msl::fence(order);
  return value;
}
template <class T>
__MSL_FN void atomic_store_explicit(volatile atomic<T>* object, ::__msl::identity_t<T> value,
                                    memory_order order) {
  ::__msl::fence(order);
  __atomic_store(&object->__s, &value, __ATOMIC_RELAXED);
  ::__msl::fence(order);
}
template <class T>
__MSL_FN T atomic_exchange_explicit(volatile atomic<T>* object, ::__msl::identity_t<T> value,
                                    memory_order order) {
  T before;
  ::__msl::fence(order);
  __atomic_exchange(&object->__s, &value, &before, __ATOMIC_RELAXED);
  ::__msl::fence(order);
  return before;
}
// May fail without reason on Apple's hardware; never does so here.
template <class T>
__MSL_FN bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected,
                                                    ::__msl::identity_t<T> desired,
                                                    memory_order success, memory_order) {
  ::__msl::fence(success);
  bool done = __atomic_compare_exchange(&object->__s, expected, &desired, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
  ::__msl::fence(success);
  return done;
}

#define __MSL_ATOMIC_FETCH(name, condition, ...)                                                \
  template <class T, __MSL_IF(condition)>                                                       \
  __MSL_FN T atomic_fetch_##name##_explicit(volatile atomic<T>* object,                         \
                                            ::__msl::identity_t<T> value, memory_order order) { \
    ::__msl::fence(order);                                                                      \
    T before = __VA_ARGS__;                                                                     \
    ::__msl::fence(order);                                                                      \
    return before;                                                                              \
  }
// bool has only the logical operations, on its byte.
#define __MSL_ATOMIC_LOGIC(name, condition, builtin)                                           \
  __MSL_ATOMIC_FETCH(name, condition,                                                          \
                     T(builtin((volatile typename ::__msl::atomic_bits<T>::type*)&object->__s, \
                               value, __ATOMIC_RELAXED)))

}  // namespace metal

namespace __msl {
template <class T>
struct atomic_bits {
  using type = T;
};
template <>
struct atomic_bits<bool> {
  using type = unsigned char;
};
template <class T>
inline constexpr bool is_counting = is_number<T> && !__is_same(T, bool);
}  // namespace __msl

namespace metal {

__MSL_ATOMIC_FETCH(add, ::__msl::is_counting<T>,
                   __atomic_fetch_add(&object->__s, value, __ATOMIC_RELAXED))
__MSL_ATOMIC_FETCH(sub, ::__msl::is_counting<T>,
                   __atomic_fetch_sub(&object->__s, value, __ATOMIC_RELAXED))
__MSL_ATOMIC_FETCH(min, ::__msl::is_integer<T>&& ::__msl::is_counting<T>,
                   __atomic_fetch_min(&object->__s, value, __ATOMIC_RELAXED))
__MSL_ATOMIC_FETCH(max, ::__msl::is_integer<T>&& ::__msl::is_counting<T>,
                   __atomic_fetch_max(&object->__s, value, __ATOMIC_RELAXED))
__MSL_ATOMIC_LOGIC(and, ::__msl::is_integer<T>, __atomic_fetch_and)
__MSL_ATOMIC_LOGIC(or, ::__msl::is_integer<T>, __atomic_fetch_or)
__MSL_ATOMIC_LOGIC(xor, ::__msl::is_integer<T>, __atomic_fetch_xor)

// 64-bit minimum and maximum without a result.
template <class T, __MSL_IF(::__msl::is_integer<T>)>
__MSL_FN void atomic_min_explicit(volatile atomic<T>* object, ::__msl::identity_t<T> value,
                                  memory_order order) {
  atomic_fetch_min_explicit(object, value, order);
}
template <class T, __MSL_IF(::__msl::is_integer<T>)>
__MSL_FN void atomic_max_explicit(volatile atomic<T>* object, ::__msl::identity_t<T> value,
                                  memory_order order) {
  atomic_fetch_max_explicit(object, value, order);
}

}  // namespace metal
