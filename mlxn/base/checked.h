// Integer arithmetic that reports overflow instead of wrapping. Used for every size and offset that
// comes from outside.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <utility>

#include "mlxn/base/result.h"
#include "mlxn/base/strings.h"

namespace mlxn {

template <std::integral T>
Result<T> checked_add(T a, T b) {
  T out;
  if (__builtin_add_overflow(a, b, &out)) {
    return Error(ErrorCode::kOutOfRange, str(+a, " + ", +b, " overflows"));
  }
  return out;
}

template <std::integral T>
Result<T> checked_sub(T a, T b) {
  T out;
  if (__builtin_sub_overflow(a, b, &out)) {
    return Error(ErrorCode::kOutOfRange, str(+a, " - ", +b, " overflows"));
  }
  return out;
}

template <std::integral T>
Result<T> checked_mul(T a, T b) {
  T out;
  if (__builtin_mul_overflow(a, b, &out)) {
    return Error(ErrorCode::kOutOfRange, str(+a, " * ", +b, " overflows"));
  }
  return out;
}

// The next multiple of `alignment`, which must be a power of two.
template <std::unsigned_integral T>
Result<T> checked_align_up(T value, T alignment) {
  if (!std::has_single_bit(alignment)) {
    return Error(ErrorCode::kInvalidArgument,
                 str("alignment ", +alignment, ", expected a power of two"));
  }
  MLXN_ASSIGN(T raised, checked_add<T>(value, alignment - 1));
  return static_cast<T>(raised & ~(alignment - 1));
}

template <std::integral To, std::integral From>
Result<To> checked_cast(From value) {
  if (!std::in_range<To>(value)) {
    return Error(ErrorCode::kOutOfRange,
                 str(+value, " does not fit into ", sizeof(To) * 8, " bits"));
  }
  return static_cast<To>(value);
}

// For counts and times, where the end of the range is as good as the number.
constexpr uint64_t saturating_add(uint64_t a, uint64_t b) {
  return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}
constexpr uint64_t saturating_sub(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

// Whether [offset, offset + size) lies inside [0, total).
constexpr bool span_fits(uint64_t offset, uint64_t size, uint64_t total) {
  return size <= total && offset <= total - size;
}

}  // namespace mlxn
