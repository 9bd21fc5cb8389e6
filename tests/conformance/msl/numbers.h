// Host side of half and bfloat, and the distance of a result from its exact value.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace msl_test {

enum class Type { kFloat, kHalf, kBfloat, kInt, kUint };

struct Format {
  int mantissa;      // bits after the leading one
  int min_exponent;  // of the smallest normal number
  double largest;
};
inline Format format_of(Type type) {
  if (type == Type::kHalf) return {10, -14, 65504.0};
  if (type == Type::kBfloat) return {7, -126, 0x1.fep127};
  return {23, -126, 0x1.fffffep127};
}

// The distance between neighbours around x.
inline double spacing(double x, Type type) {
  const Format f = format_of(type);
  const int e =
      x == 0 || !std::isfinite(x) ? f.min_exponent : std::max(std::ilogb(x), f.min_exponent);
  return std::ldexp(1.0, e - f.mantissa);
}

// x rounded to nearest even in the format.
inline double rounded(double x, Type type) {
  if (!std::isfinite(x) || x == 0) return x;
  const double step = spacing(x, type);
  const double r = std::nearbyint(x / step) * step;
  return std::fabs(r) > format_of(type).largest ? std::copysign(INFINITY, x) : r;
}

// How far `got` is from the exact value, in units of the last place. Equal infinities and any two
// NaNs are at distance zero.
inline double distance_ulp(double got, double exact, Type type) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got) ? 0 : std::numeric_limits<double>::infinity();
  const double nearest = rounded(exact, type);
  if (got == nearest) return 0;
  if (std::isinf(got) || std::isinf(nearest)) {
    // The largest number and infinity are neighbours.
    const double largest = format_of(type).largest;
    const bool neighbours = std::signbit(got) == std::signbit(nearest) &&
                            std::fabs(got) >= largest * 0.999 &&
                            std::fabs(nearest) >= largest * 0.999;
    return neighbours ? 1 : std::numeric_limits<double>::infinity();
  }
  return std::fabs(got - exact) / spacing(exact, type);
}

}  // namespace msl_test
