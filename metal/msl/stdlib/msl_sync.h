// metal_compute: barriers and fences.
#pragma once
#pragma clang system_header

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
};
__MSL_CONSTEXPR_FN mem_flags operator|(mem_flags a, mem_flags b) {
  return mem_flags(uint(a) | uint(b));
}
__MSL_CONSTEXPR_FN mem_flags operator&(mem_flags a, mem_flags b) {
  return mem_flags(uint(a) & uint(b));
}
__MSL_CONSTEXPR_FN mem_flags operator^(mem_flags a, mem_flags b) {
  return mem_flags(uint(a) ^ uint(b));
}
__MSL_CONSTEXPR_FN mem_flags operator~(mem_flags a) {
  return mem_flags(~uint(a));
}

enum memory_order : int {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5,
};

enum thread_scope : int {
  thread_scope_thread = 0,
  thread_scope_threadgroup = 1,
  thread_scope_device = 2,
  thread_scope_simdgroup = 4,
};
enum memory_scope : int {
  memory_scope_threadgroup = 1,
  memory_scope_device = 2,
  memory_scope_simdgroup = 4,
};

__MSL_FN void threadgroup_barrier(mem_flags flags) {
  __msl_threadgroup_barrier(uint(flags), 0u);
}
__MSL_FN void threadgroup_barrier(mem_flags flags, memory_scope) {
  __msl_threadgroup_barrier(uint(flags), 0u);
}
__MSL_FN void simdgroup_barrier(mem_flags flags) {
  __msl_simdgroup_barrier(uint(flags), 0u);
}
__MSL_FN void simdgroup_barrier(mem_flags flags, memory_scope) {
  __msl_simdgroup_barrier(uint(flags), 0u);
}

__MSL_FN void atomic_thread_fence(mem_flags, memory_order order,
                                  thread_scope = thread_scope_device) {
  if (order != memory_order_relaxed) __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

}  // namespace metal
