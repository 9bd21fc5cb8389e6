// <simd/simd.h>: the names host and kernels share for vector and matrix types.
#pragma once
#pragma clang system_header

#define __MSL_SIMD_VECTOR(T, N)               \
  using simd_##T##N = ::T##N;                 \
  using vector_##T##N = ::T##N;               \
  using simd_packed_##T##N = ::packed_##T##N; \
  namespace simd {                            \
  using ::packed_##T##N;                      \
  using ::T##N;                               \
  }
#define __MSL_SIMD_VECTORS(T) \
  using simd_##T##1 = T;      \
  __MSL_SIMD_VECTOR(T, 2) __MSL_SIMD_VECTOR(T, 3) __MSL_SIMD_VECTOR(T, 4)

__MSL_SIMD_VECTORS(char)
__MSL_SIMD_VECTORS(uchar)
__MSL_SIMD_VECTORS(short)
__MSL_SIMD_VECTORS(ushort)
__MSL_SIMD_VECTORS(int)
__MSL_SIMD_VECTORS(uint)
__MSL_SIMD_VECTORS(long)
__MSL_SIMD_VECTORS(ulong)
__MSL_SIMD_VECTORS(half)
__MSL_SIMD_VECTORS(float)
#undef __MSL_SIMD_VECTORS
#undef __MSL_SIMD_VECTOR

using simd_bool = bool;

#define __MSL_SIMD_MATRIX(T, C, R)          \
  using simd_##T##C##x##R = ::T##C##x##R;   \
  using matrix_##T##C##x##R = ::T##C##x##R; \
  namespace simd {                          \
  using ::T##C##x##R;                       \
  }
#define __MSL_SIMD_ROWS(T, C) \
  __MSL_SIMD_MATRIX(T, C, 2) __MSL_SIMD_MATRIX(T, C, 3) __MSL_SIMD_MATRIX(T, C, 4)
#define __MSL_SIMD_MATRICES(T) __MSL_SIMD_ROWS(T, 2) __MSL_SIMD_ROWS(T, 3) __MSL_SIMD_ROWS(T, 4)

__MSL_SIMD_MATRICES(half)
__MSL_SIMD_MATRICES(float)
#undef __MSL_SIMD_MATRICES
#undef __MSL_SIMD_ROWS
#undef __MSL_SIMD_MATRIX
