// The cross-lane functions on NVIDIA GPUs: a simdgroup is a warp. Member masks are the active
// lanes; reductions follow the order kernel_abi.h fixes (lane i with lane i + d, d = 16 ... 1).
#pragma once
#pragma clang system_header

#define __MSL_WARP extern "C" __attribute__((always_inline, convergent, nothrow))

__MSL_WARP void __msl_threadgroup_barrier(unsigned, unsigned) {
  __syncthreads();
}
__MSL_WARP void __msl_simdgroup_barrier(unsigned, unsigned) {
  __nvvm_bar_warp_sync(__nvvm_activemask());
}
__MSL_WARP unsigned __msl_simd_active(unsigned) {
  return __nvvm_activemask();
}
__MSL_WARP unsigned __msl_simd_ballot(unsigned predicate, unsigned) {
  return __nvvm_vote_ballot_sync(__nvvm_activemask(), predicate != 0);
}
__MSL_WARP unsigned __msl_simd_shuffle(unsigned value, unsigned lane, unsigned) {
  unsigned active = __nvvm_activemask();
  unsigned other = __nvvm_shfl_sync_idx_i32(active, value, lane & 31, 31);
  return lane < 32 && (active >> lane & 1) ? other : value;
}

namespace __msl {

template <class T>
__attribute__((always_inline)) inline T warp_get(unsigned mask, T value, unsigned lane) {
  if constexpr (sizeof(T) == 8) {
    unsigned long bits = __builtin_bit_cast(unsigned long, value);
    unsigned low = __nvvm_shfl_sync_idx_i32(mask, unsigned(bits), lane, 31);
    unsigned high = __nvvm_shfl_sync_idx_i32(mask, unsigned(bits >> 32), lane, 31);
    return __builtin_bit_cast(T, (unsigned long)high << 32 | low);
  } else {
    return __builtin_bit_cast(
        T, __nvvm_shfl_sync_idx_i32(mask, __builtin_bit_cast(int, value), lane, 31));
  }
}

template <class T>
__attribute__((always_inline)) inline T combine(T a, T b, unsigned function) {
  switch (function) {
    case MSL_FN_SUM: return a + b;
    case MSL_FN_PRODUCT: return a * b;
    case MSL_FN_MIN:
      if constexpr (T(0.5f) != T(0))
        return __builtin_fminf(a, b);
      else
        return b < a ? b : a;
    case MSL_FN_MAX:
      if constexpr (T(0.5f) != T(0))
        return __builtin_fmaxf(a, b);
      else
        return a < b ? b : a;
  }
  if constexpr (T(0.5f) == T(0)) {
    switch (function) {
      case MSL_FN_AND: return a & b;
      case MSL_FN_OR: return a | b;
      case MSL_FN_XOR: return a ^ b;
    }
  }
  return a;
}

template <class T>
__attribute__((always_inline)) inline T warp_reduce(T value, unsigned function) {
  unsigned mask = __nvvm_activemask(), lane = __nvvm_read_ptx_sreg_laneid();
  unsigned have = mask;  // lanes whose partial result counts
  for (unsigned d = 16; d; d >>= 1) {
    T other = warp_get(mask, value, (lane + d) & 31);
    bool mine = have >> lane & 1, theirs = lane < d && (have >> (lane + d) & 1);
    if (lane < d) value = mine && theirs ? combine(value, other, function) : theirs ? other : value;
    have = (have | have >> d) & ((1u << d) - 1);
  }
  return warp_get(mask, value, 0);
}

template <class T>
__attribute__((always_inline)) inline T warp_scan(T value, unsigned function, bool exclusive) {
  unsigned mask = __nvvm_activemask(), lane = __nvvm_read_ptx_sreg_laneid();
  T sum = function == MSL_FN_PRODUCT ? T(1) : T(0), result = sum;
  for (unsigned i = 0; i < 32; ++i) {
    T other = warp_get(mask, value, i);
    if (!(mask >> i & 1)) continue;
    if (exclusive && i == lane) result = sum;
    sum = combine(sum, other, function);
    if (!exclusive && i == lane) result = sum;
  }
  return result;
}

}  // namespace __msl

#define __MSL_WARP_FUNCTIONS(T, suffix)                                                   \
  __MSL_WARP T __msl_simd_reduce_##suffix(T value, unsigned function, unsigned) {         \
    return __msl::warp_reduce(value, function);                                           \
  }                                                                                       \
  __MSL_WARP T __msl_simd_scan_inclusive_##suffix(T value, unsigned function, unsigned) { \
    return __msl::warp_scan(value, function, false);                                      \
  }                                                                                       \
  __MSL_WARP T __msl_simd_scan_exclusive_##suffix(T value, unsigned function, unsigned) { \
    return __msl::warp_scan(value, function, true);                                       \
  }
__MSL_WARP_FUNCTIONS(float, f32)
__MSL_WARP_FUNCTIONS(int, i32)
__MSL_WARP_FUNCTIONS(unsigned, u32)
__MSL_WARP_FUNCTIONS(long, i64)
__MSL_WARP_FUNCTIONS(unsigned long, u64)
#undef __MSL_WARP_FUNCTIONS

// a * b + c on 8x8 matrices, two consecutive columns of one row per lane, exact f32 in order of k.
__MSL_WARP __msl_pair_f32 __msl_simd_matrix_fma(__msl_pair_f32 a, __msl_pair_f32 b,
                                                __msl_pair_f32 c, unsigned) {
  unsigned mask = __nvvm_activemask(), lane = __nvvm_read_ptx_sreg_laneid();
  unsigned row = (lane / 4 & 4) + (lane / 2 & 3), column = (lane / 4 & 2) * 2 + (lane & 1) * 2;
  auto lane_of = [](unsigned r, unsigned col) {
    return (r & 4) << 2 | (col & 4) << 1 | (r & 3) << 1 | (col & 2) >> 1;
  };
  for (unsigned k = 0; k < 8; ++k) {
    unsigned from_a = lane_of(row, k & 6), from_b = lane_of(k, column);
    float a0 = __msl::warp_get(mask, a.x, from_a), a1 = __msl::warp_get(mask, a.y, from_a);
    float value = k & 1 ? a1 : a0;
    c.x = __builtin_fmaf(value, __msl::warp_get(mask, b.x, from_b), c.x);
    c.y = __builtin_fmaf(value, __msl::warp_get(mask, b.y, from_b), c.y);
  }
  return c;
}

namespace __msl {

// Where the first element of a lane lies in a matrix in memory.
__attribute__((always_inline)) inline unsigned long matrix_offset(unsigned long down,
                                                                  unsigned long across,
                                                                  unsigned lane) {
  unsigned row = (lane / 4 & 4) + (lane / 2 & 3), column = (lane / 4 & 2) * 2 + (lane & 1) * 2;
  return row * down + column * across;
}

}  // namespace __msl

#define __MSL_WARP_MATRIX(T, suffix)                                                               \
  __MSL_WARP __msl_pair_##suffix __msl_matrix_load_##suffix(const T* base, unsigned long down,     \
                                                            unsigned long across, unsigned lane) { \
    const T* first = base + __msl::matrix_offset(down, across, lane);                              \
    return {first[0], first[across]};                                                              \
  }                                                                                                \
  __MSL_WARP void __msl_matrix_store_##suffix(T* base, unsigned long down, unsigned long across,   \
                                              unsigned lane, __msl_pair_##suffix value) {          \
    T* first = base + __msl::matrix_offset(down, across, lane);                                    \
    first[0] = value.x;                                                                            \
    first[across] = value.y;                                                                       \
  }
__MSL_WARP_MATRIX(float, f32)
__MSL_WARP_MATRIX(_Float16, f16)
__MSL_WARP_MATRIX(__bf16, bf16)
#undef __MSL_WARP_MATRIX
