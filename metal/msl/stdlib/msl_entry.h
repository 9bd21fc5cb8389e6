// Glue between a kernel and the way it is called. The front end generates, for every entry point, a
// function __msl_entry_<n> that fetches each argument with one of these templates; T is always the
// type of the kernel's parameter.
#pragma once

#include "kernel_abi.h"

template <int I, class T, class... Rest>
struct __msl_nth : __msl_nth<I - 1, Rest...> {};
template <class T, class... Rest>
struct __msl_nth<0, T, Rest...> {
  using type = T;
};

template <class F>
struct __msl_parameters;
template <class R, class... A>
struct __msl_parameters<R (*const)(A...)> {
  template <int I>
  using at = typename __msl_nth<I, A...>::type;
};

// Pointers and references to bound memory.
template <class T>
struct __msl_argument;
template <class T>
struct __msl_argument<T*> {
  static T* make(void* p) { return (T*)p; }
};
template <class T>
struct __msl_argument<T&> {
  static T& make(void* p) { return *(T*)p; }
};

template <class T, unsigned index>
__attribute__((always_inline)) inline T __msl_buffer() {
  return __msl_argument<T>::make(__msl_buffer_address(index));
}
template <class T, unsigned index>
__attribute__((always_inline)) inline T __msl_constant() {
  return __msl_argument<T>::make(__msl_constant_address(index));
}
template <class T, unsigned index>
__attribute__((always_inline)) inline T __msl_threadgroup() {
  return __msl_argument<T>::make(__msl_threadgroup_address(index));
}
// An argument switched off by its function constant. Reading it is the kernel's mistake.
template <class T>
__attribute__((always_inline)) inline T __msl_absent() {
  return __msl_argument<T>::make(nullptr);
}

// A position or size as a scalar or a vector of two or three.
template <class T>
struct __msl_triple {
  static T make(unsigned x, unsigned, unsigned) { return T(x); }
};
template <class E>
struct __msl_triple<metal::vec<E, 2>> {
  static metal::vec<E, 2> make(unsigned x, unsigned y, unsigned) {
    return metal::vec<E, 2>(E(x), E(y));
  }
};
template <class E>
struct __msl_triple<metal::vec<E, 3>> {
  static metal::vec<E, 3> make(unsigned x, unsigned y, unsigned z) {
    return metal::vec<E, 3>(E(x), E(y), E(z));
  }
};

template <class T>
struct __msl_plain {
  using type = T;
};
template <class T>
struct __msl_plain<const T> {
  using type = T;
};

#define __MSL_TRIPLE(name, function)                                                   \
  template <class T>                                                                   \
  __attribute__((always_inline)) inline T __msl_id_##name() {                          \
    return __msl_triple<typename __msl_plain<T>::type>::make(function(0), function(1), \
                                                             function(2));             \
  }
__MSL_TRIPLE(thread_position_in_grid, __msl_grid_position)
__MSL_TRIPLE(thread_position_in_threadgroup, __msl_local_position)
__MSL_TRIPLE(threadgroup_position_in_grid, __msl_group_position)
__MSL_TRIPLE(threads_per_threadgroup, __msl_group_size)
__MSL_TRIPLE(dispatch_threads_per_threadgroup, __msl_dispatch_size)
__MSL_TRIPLE(threads_per_grid, __msl_grid_size)
__MSL_TRIPLE(grid_size, __msl_grid_size)
__MSL_TRIPLE(threadgroups_per_grid, __msl_grid_groups)
#undef __MSL_TRIPLE

__attribute__((always_inline)) inline unsigned __msl_zero(unsigned) {
  return 0;
}
__attribute__((always_inline)) inline unsigned __msl_present() {
  return __msl_group_size(0) * __msl_group_size(1) * __msl_group_size(2);
}
__attribute__((always_inline)) inline unsigned __msl_dispatched() {
  return __msl_dispatch_size(0) * __msl_dispatch_size(1) * __msl_dispatch_size(2);
}
#define __MSL_SCALAR(name, value)                             \
  template <class T>                                          \
  __attribute__((always_inline)) inline T __msl_id_##name() { \
    return T(value);                                          \
  }
__MSL_SCALAR(thread_index_in_threadgroup, __msl_thread_index())
__MSL_SCALAR(thread_index_in_simdgroup, __msl_lane_id())
__MSL_SCALAR(simdgroup_index_in_threadgroup, __msl_thread_index() / MSL_SIMD_WIDTH)
__MSL_SCALAR(simdgroups_per_threadgroup, (__msl_present() + MSL_SIMD_WIDTH - 1) / MSL_SIMD_WIDTH)
__MSL_SCALAR(dispatch_simdgroups_per_threadgroup,
             (__msl_dispatched() + MSL_SIMD_WIDTH - 1) / MSL_SIMD_WIDTH)
__MSL_SCALAR(threads_per_simdgroup, MSL_SIMD_WIDTH)
__MSL_SCALAR(thread_execution_width, MSL_SIMD_WIDTH)
__MSL_SCALAR(thread_index_in_quadgroup, __msl_thread_index() % 4)
__MSL_SCALAR(quadgroup_index_in_threadgroup, __msl_thread_index() / 4)
__MSL_SCALAR(quadgroups_per_threadgroup, (__msl_present() + 3) / 4)
__MSL_SCALAR(dispatch_quadgroups_per_threadgroup, (__msl_dispatched() + 3) / 4)
#undef __MSL_SCALAR
template <class T>
__attribute__((always_inline)) inline T __msl_id_grid_origin() {
  return __msl_triple<typename __msl_plain<T>::type>::make(0, 0, 0);
}

#ifdef __NVPTX__
#include "msl_runtime_nvptx.h"
#endif
