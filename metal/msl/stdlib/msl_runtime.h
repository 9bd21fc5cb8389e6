// What the compiler's lowering understands. The last argument numbers the call site; the compiler
// fills it in, calls here pass 0.
#pragma once
#pragma clang system_header

#define __MSL_CONVERGENT __attribute__((convergent, nomerge, nothrow))

extern "C" {
__MSL_CONVERGENT void __msl_threadgroup_barrier(unsigned flags, unsigned site);
__MSL_CONVERGENT void __msl_simdgroup_barrier(unsigned flags, unsigned site);
__MSL_CONVERGENT unsigned __msl_simd_shuffle(unsigned value, unsigned lane, unsigned site);
__MSL_CONVERGENT unsigned __msl_simd_ballot(unsigned predicate, unsigned site);
__MSL_CONVERGENT unsigned __msl_simd_active(unsigned site);

// The two elements of a lane in an 8x8 matrix in memory: element (row, column) lies at
// base[row * down + column * across].
#define __MSL_MATRIX_MEMORY(T, suffix)                                                   \
  struct __msl_pair_##suffix {                                                           \
    T x, y;                                                                              \
  };                                                                                     \
  __MSL_CONVERGENT __msl_pair_##suffix __msl_matrix_load_##suffix(                       \
      const T* base, unsigned long down, unsigned long across, unsigned lane);           \
  __MSL_CONVERGENT void __msl_matrix_store_##suffix(T* base, unsigned long down,         \
                                                    unsigned long across, unsigned lane, \
                                                    __msl_pair_##suffix value);
__MSL_MATRIX_MEMORY(float, f32)
__MSL_MATRIX_MEMORY(_Float16, f16)
__MSL_MATRIX_MEMORY(__bf16, bf16)
__MSL_CONVERGENT __msl_pair_f32 __msl_simd_matrix_fma(__msl_pair_f32 a, __msl_pair_f32 b,
                                                      __msl_pair_f32 c, unsigned site);

// Where the running thread is; replaced by the lowering, which needs constants as operands. Grid
// positions never wrap.
__attribute__((const, nothrow)) unsigned __msl_grid_position(unsigned dimension);
__attribute__((const, nothrow)) unsigned __msl_local_position(unsigned dimension);
__attribute__((const, nothrow)) unsigned __msl_group_position(unsigned dimension);
__attribute__((const, nothrow)) unsigned __msl_group_size(unsigned dimension);  // threads present
__attribute__((const, nothrow)) unsigned __msl_dispatch_size(unsigned dimension);  // as dispatched
__attribute__((const, nothrow)) unsigned __msl_grid_size(unsigned dimension);
__attribute__((const, nothrow)) unsigned __msl_grid_groups(unsigned dimension);
// Addresses of arguments; replaced by the lowering.
__attribute__((const, nothrow)) void* __msl_buffer_address(unsigned index);
__attribute__((const, nothrow)) void* __msl_constant_address(
    unsigned index);  // memory no kernel writes
__attribute__((const, nothrow)) void* __msl_threadgroup_address(unsigned index);
// Dot products, see mlxn/ops/common/dot.h.
#define __MSL_PACKED_DOTS__ 1
__attribute__((const, nothrow)) int __msl_dot4(unsigned bytes, int signed_bytes, int sum);
__attribute__((const, nothrow)) float __msl_dot2(unsigned a, unsigned b, float sum);
__attribute__((const, nothrow)) unsigned __msl_lane_id(void);
__attribute__((const, nothrow)) unsigned __msl_thread_index(void);

#define __MSL_LANE_FUNCTIONS(T, suffix)                                                     \
  __MSL_CONVERGENT T __msl_simd_reduce_##suffix(T value, unsigned function, unsigned site); \
  __MSL_CONVERGENT T __msl_simd_scan_inclusive_##suffix(T value, unsigned function,         \
                                                        unsigned site);                     \
  __MSL_CONVERGENT T __msl_simd_scan_exclusive_##suffix(T value, unsigned function, unsigned site);
__MSL_LANE_FUNCTIONS(float, f32)
__MSL_LANE_FUNCTIONS(int, i32)
__MSL_LANE_FUNCTIONS(unsigned, u32)
__MSL_LANE_FUNCTIONS(long, i64)
__MSL_LANE_FUNCTIONS(unsigned long, u64)
}
