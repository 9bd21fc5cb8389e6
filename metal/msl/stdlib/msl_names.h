// The spelled-out names of vector and matrix types, global and in namespace metal.
#pragma once
#pragma clang system_header

namespace metal {
template <class T, int C, int R>
struct matrix;
}

#define __MSL_VECTOR_NAMES(T, N)          \
  namespace metal {                       \
  using T##N = vec<T, N>;                 \
  using packed_##T##N = packed_vec<T, N>; \
  }                                       \
  using metal::T##N;                      \
  using metal::packed_##T##N;
#define __MSL_ALL_VECTOR_NAMES(T) \
  __MSL_VECTOR_NAMES(T, 2) __MSL_VECTOR_NAMES(T, 3) __MSL_VECTOR_NAMES(T, 4)

__MSL_ALL_VECTOR_NAMES(bool)
__MSL_ALL_VECTOR_NAMES(char)
__MSL_ALL_VECTOR_NAMES(uchar)
__MSL_ALL_VECTOR_NAMES(short)
__MSL_ALL_VECTOR_NAMES(ushort)
__MSL_ALL_VECTOR_NAMES(int)
__MSL_ALL_VECTOR_NAMES(uint)
__MSL_ALL_VECTOR_NAMES(long)
__MSL_ALL_VECTOR_NAMES(ulong)
__MSL_ALL_VECTOR_NAMES(half)
__MSL_ALL_VECTOR_NAMES(float)
__MSL_ALL_VECTOR_NAMES(bfloat)

#define __MSL_MATRIX_NAME(T, C, R)    \
  namespace metal {                   \
  using T##C##x##R = matrix<T, C, R>; \
  }                                   \
  using metal::T##C##x##R;
#define __MSL_MATRIX_ROWS(T, C) \
  __MSL_MATRIX_NAME(T, C, 2) __MSL_MATRIX_NAME(T, C, 3) __MSL_MATRIX_NAME(T, C, 4)
#define __MSL_ALL_MATRIX_NAMES(T) \
  __MSL_MATRIX_ROWS(T, 2) __MSL_MATRIX_ROWS(T, 3) __MSL_MATRIX_ROWS(T, 4)

__MSL_ALL_MATRIX_NAMES(half)
__MSL_ALL_MATRIX_NAMES(float)
