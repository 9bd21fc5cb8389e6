#include "metal/exec/cpu/simd_operations.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace mlxn::cpu {
namespace {

constexpr unsigned kWidth = MSL_SIMD_WIDTH;

bool has_lane(uint32_t mask, unsigned lane) {
  return mask >> lane & 1;
}

// Lane values as T: one row of 32-bit words, or two rows, low words first.
template <class T>
T load(const MslSimdgroup& group, unsigned lane) {
  if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(group.data[0][lane]);
  } else {
    return static_cast<T>(uint64_t{group.data[1][lane]} << 32 | group.data[0][lane]);
  }
}

template <class T>
void store(MslSimdgroup& group, unsigned lane, T value) {
  if constexpr (sizeof(T) == 4) {
    group.data[0][lane] = std::bit_cast<uint32_t>(value);
  } else {
    group.data[0][lane] = static_cast<uint32_t>(static_cast<uint64_t>(value));
    group.data[1][lane] = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
  }
}

// Each function: how two values combine, and the value that leaves any other unchanged, which
// stands in for lanes that do not take part. Integers wrap around.
template <class T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                             std::type_identity<T>>::type;

template <class T>
struct Sum {
  static T identity() { return std::is_floating_point_v<T> ? T(-0.0f) : T(0); }
  static T combine(T a, T b) { return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b)); }
};

template <class T>
struct Product {
  static T identity() { return T(1); }
  static T combine(T a, T b) { return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b)); }
};

template <class T>
struct Min {
  static T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_quiet_NaN ? Limits::quiet_NaN() : Limits::max();
  }
  static T combine(T a, T b) { return b != b || a < b ? a : b; }
};

template <class T>
struct Max {
  static T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_quiet_NaN ? Limits::quiet_NaN() : Limits::lowest();
  }
  static T combine(T a, T b) { return b != b || a > b ? a : b; }
};

template <class T>
struct And {
  static T identity() { return static_cast<T>(~T(0)); }
  static T combine(T a, T b) { return a & b; }
};

template <class T>
struct Or {
  static T identity() { return T(0); }
  static T combine(T a, T b) { return a | b; }
};

template <class T>
struct Xor {
  static T identity() { return T(0); }
  static T combine(T a, T b) { return a ^ b; }
};

template <class T, class Function>
void reduce(MslSimdgroup& group, uint32_t mask) {
  T value[kWidth];
  for (unsigned i = 0; i < kWidth; ++i) {
    value[i] = has_lane(mask, i) ? load<T>(group, i) : Function::identity();
  }
  for (unsigned d = kWidth / 2; d > 0; d /= 2) {
    for (unsigned i = 0; i < d; ++i) value[i] = Function::combine(value[i], value[i + d]);
  }
  for (unsigned i = 0; i < kWidth; ++i) {
    if (has_lane(mask, i)) store(group, i, value[0]);
  }
}

template <class T, class Function>
void scan(MslSimdgroup& group, uint32_t mask, bool inclusive) {
  // What the first lane of an exclusive scan gets: plain zero, unlike the -0.0 of Sum.
  T before = std::is_same_v<Function, Sum<T>> ? T(0) : Function::identity();
  bool first = true;
  T total{};
  for (unsigned i = 0; i < kWidth; ++i) {
    if (!has_lane(mask, i)) continue;
    const T own = load<T>(group, i);
    total = first ? own : Function::combine(total, own);
    first = false;
    store(group, i, inclusive ? total : before);
    before = total;
  }
}

template <class T, class Function>
void run(MslSimdgroup& group, unsigned kind, uint32_t mask) {
  if (kind == MSL_OP_REDUCE) {
    reduce<T, Function>(group, mask);
  } else {
    scan<T, Function>(group, mask, kind == MSL_OP_SCAN_INCLUSIVE);
  }
}

template <class T>
bool run_typed(MslSimdgroup& group, unsigned kind, unsigned function, uint32_t mask) {
  const bool is_scan = kind != MSL_OP_REDUCE;
  if (is_scan && function != MSL_FN_SUM && function != MSL_FN_PRODUCT) return false;
  if constexpr (std::is_integral_v<T>) {
    switch (function) {
      case MSL_FN_AND: return run<T, And<T>>(group, kind, mask), true;
      case MSL_FN_OR: return run<T, Or<T>>(group, kind, mask), true;
      case MSL_FN_XOR: return run<T, Xor<T>>(group, kind, mask), true;
      default: break;
    }
  }
  switch (function) {
    case MSL_FN_SUM: return run<T, Sum<T>>(group, kind, mask), true;
    case MSL_FN_PRODUCT: return run<T, Product<T>>(group, kind, mask), true;
    case MSL_FN_MIN: return run<T, Min<T>>(group, kind, mask), true;
    case MSL_FN_MAX: return run<T, Max<T>>(group, kind, mask), true;
    default: return false;
  }
}

bool run_arithmetic(MslSimdgroup& group, unsigned op, uint32_t mask) {
  const unsigned kind = MSL_OP_KIND(op), function = MSL_OP_FUNCTION(op);
  switch (MSL_OP_TYPE(op)) {
    case MSL_TYPE_F32: return run_typed<float>(group, kind, function, mask);
    case MSL_TYPE_I32: return run_typed<int32_t>(group, kind, function, mask);
    case MSL_TYPE_U32: return run_typed<uint32_t>(group, kind, function, mask);
    case MSL_TYPE_I64: return run_typed<int64_t>(group, kind, function, mask);
    case MSL_TYPE_U64: return run_typed<uint64_t>(group, kind, function, mask);
    default: return false;
  }
}

void shuffle(MslSimdgroup& group, uint32_t mask) {
  uint32_t value[kWidth];
  for (unsigned i = 0; i < kWidth; ++i) {
    const uint32_t source = group.data[1][i];
    const bool reachable = source < kWidth && has_lane(mask, source);
    value[i] = group.data[0][reachable ? source : i];
  }
  for (unsigned i = 0; i < kWidth; ++i) {
    if (has_lane(mask, i)) group.data[0][i] = value[i];
  }
}

void ballot(MslSimdgroup& group, uint32_t mask) {
  uint32_t votes = 0;
  for (unsigned i = 0; i < kWidth; ++i) votes |= (group.data[0][i] & 1) << i;
  for (unsigned i = 0; i < kWidth; ++i) {
    if (has_lane(mask, i)) group.data[0][i] = votes & mask;
  }
}

void active_mask(MslSimdgroup& group, uint32_t mask) {
  for (unsigned i = 0; i < kWidth; ++i) {
    if (has_lane(mask, i)) group.data[0][i] = mask;
  }
}

// Where a lane's first of two consecutive elements lies in an 8x8 matrix, row by row.
constexpr unsigned element_of_lane(unsigned lane) {
  const unsigned row = (lane / 4 & 4) + (lane / 2 & 3);
  const unsigned column = (lane / 4 & 2) * 2 + (lane & 1) * 2;
  return row * 8 + column;
}

// One body, compiled for plain x86-64 (where fmaf is a call) and for machines with the instruction;
// both round once, so results are equal.
__attribute__((always_inline)) inline void multiply_add(const float* a, const float* b, float* c) {
  for (unsigned row = 0; row < 8; ++row) {
    for (unsigned k = 0; k < 8; ++k) {
      for (unsigned column = 0; column < 8; ++column) {
        c[row * 8 + column] =
            __builtin_fmaf(a[row * 8 + k], b[k * 8 + column], c[row * 8 + column]);
      }
    }
  }
}

void multiply_add_plain(const float* a, const float* b, float* c) {
  multiply_add(a, b, c);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void multiply_add_fma(const float* a, const float* b,
                                                          float* c) {
  multiply_add(a, b, c);
}
bool has_fma() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return found;
}
#else
void multiply_add_fma(const float* a, const float* b, float* c) {
  multiply_add(a, b, c);
}
bool has_fma() {
  return false;
}
#endif

void matrix_fma(MslSimdgroup& group, uint32_t mask) {
  float matrix[3][64];
  for (unsigned m = 0; m < 3; ++m) {
    for (unsigned lane = 0; lane < kWidth; ++lane) {
      for (unsigned e = 0; e < 2; ++e) {
        const float value = std::bit_cast<float>(group.data[2 * m + e][lane]);
        matrix[m][element_of_lane(lane) + e] = has_lane(mask, lane) ? value : 0.0f;
      }
    }
  }
  (has_fma() ? multiply_add_fma : multiply_add_plain)(matrix[0], matrix[1], matrix[2]);
  for (unsigned lane = 0; lane < kWidth; ++lane) {
    if (!has_lane(mask, lane)) continue;
    for (unsigned e = 0; e < 2; ++e) {
      group.data[e][lane] = std::bit_cast<uint32_t>(matrix[2][element_of_lane(lane) + e]);
    }
  }
}

}  // namespace

bool run_simd_operation(MslSimdgroup& group, unsigned op, uint32_t mask) {
  switch (MSL_OP_KIND(op)) {
    case MSL_OP_SIMDGROUP_BARRIER: return true;
    case MSL_OP_SHUFFLE: return shuffle(group, mask), true;
    case MSL_OP_BALLOT: return ballot(group, mask), true;
    case MSL_OP_ACTIVE: return active_mask(group, mask), true;
    case MSL_OP_REDUCE:
    case MSL_OP_SCAN_INCLUSIVE:
    case MSL_OP_SCAN_EXCLUSIVE: return run_arithmetic(group, op, mask);
    case MSL_OP_MATRIX_FMA: return matrix_fma(group, mask), true;
    default: return false;
  }
}

}  // namespace mlxn::cpu
