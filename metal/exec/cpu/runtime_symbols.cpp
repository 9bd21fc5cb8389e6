#include "metal/exec/cpu/runtime_symbols.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace mlxn::cpu {
namespace {

// Narrows an IEEE value given by its bits to a 16-bit format with `ToMantissa` mantissa bits,
// rounding to nearest even once. Source formats: float (23 mantissa bits) and double (52).
template <int ToMantissa, class Bits>
uint16_t narrow(Bits bits) {
  constexpr int kFromMantissa = sizeof(Bits) == 4 ? 23 : 52;
  constexpr int kFromExponent = sizeof(Bits) * 8 - 1 - kFromMantissa;
  constexpr int kToExponent = 15 - ToMantissa;
  constexpr int kFromBias = (1 << (kFromExponent - 1)) - 1, kToBias = (1 << (kToExponent - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << kToExponent) - 1) << ToMantissa;
  constexpr Bits kMantissaMask = (Bits{1} << kFromMantissa) - 1;

  const uint16_t sign = static_cast<uint16_t>(bits >> (sizeof(Bits) * 8 - 1) << 15);
  const int exponent = static_cast<int>(bits >> kFromMantissa & ((1 << kFromExponent) - 1));
  Bits mantissa = bits & kMantissaMask;
  if (exponent == (1 << kFromExponent) - 1) {
    if (mantissa == 0) return sign | kInfinity;
    const auto payload = static_cast<uint16_t>(mantissa >> (kFromMantissa - ToMantissa));
    return sign | kInfinity | payload | 1 << (ToMantissa - 1);  // quiet
  }
  const int shifted = exponent - kFromBias + kToBias;
  if (shifted >= (1 << kToExponent) - 1) return sign | kInfinity;
  int drop = kFromMantissa - ToMantissa;
  Bits kept_exponent = 0;
  if (shifted > 0) {
    kept_exponent = static_cast<Bits>(shifted);
  } else {  // becomes subnormal or zero
    if (exponent != 0) mantissa |= Bits{1} << kFromMantissa;
    drop += exponent != 0 ? 1 - shifted : -shifted;
    if (drop > kFromMantissa + 1) return sign;
  }
  const Bits half = Bits{1} << (drop - 1), rest = mantissa & ((half << 1) - 1);
  Bits result = (kept_exponent << ToMantissa) + (mantissa >> drop);
  if (rest > half || (rest == half && (result & 1)))
    ++result;  // may carry into the exponent: right
  return sign | static_cast<uint16_t>(result);
}

float widen_half(uint16_t half) {
  const uint32_t sign = uint32_t{half} >> 15 << 31;
  const uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Compilers pass half and bfloat in the low 16 bits of a vector register, as a float travels.
float in_register(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits});
}
uint16_t from_register(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value));
}

float truncsfhf2(float x) {
  return in_register(narrow<10>(std::bit_cast<uint32_t>(x)));
}
float truncdfhf2(double x) {
  return in_register(narrow<10>(std::bit_cast<uint64_t>(x)));
}
float truncsfbf2(float x) {
  return in_register(narrow<7>(std::bit_cast<uint32_t>(x)));
}
float truncdfbf2(double x) {
  return in_register(narrow<7>(std::bit_cast<uint64_t>(x)));
}
float extendhfsf2(float x) {
  return widen_half(from_register(x));
}
double extendhfdf2(float x) {
  return widen_half(from_register(x));
}
float extendbfsf2(float x) {
  return std::bit_cast<float>(uint32_t{from_register(x)} << 16);
}

struct Entry {
  std::string_view name;
  void* address;
};

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}
using F1 = float(float);
using F2 = float(float, float);
using F3 = float(float, float, float);
using D1 = double(double);
using D2 = double(double, double);
using D3 = double(double, double, double);

#define MLXN_F1(name)                    \
  {#name "f", address<F1>(::name##f)}, { \
    #name, address<D1>(::name)           \
  }
#define MLXN_F2(name)                    \
  {#name "f", address<F2>(::name##f)}, { \
    #name, address<D2>(::name)           \
  }

const Entry kEntries[] = {
    MLXN_F1(acos),
    MLXN_F1(acosh),
    MLXN_F1(asin),
    MLXN_F1(asinh),
    MLXN_F1(atan),
    MLXN_F1(atanh),
    MLXN_F1(cbrt),
    MLXN_F1(ceil),
    MLXN_F1(cos),
    MLXN_F1(cosh),
    MLXN_F1(erf),
    MLXN_F1(erfc),
    MLXN_F1(exp),
    MLXN_F1(exp2),
    MLXN_F1(expm1),
    MLXN_F1(fabs),
    MLXN_F1(floor),
    MLXN_F1(lgamma),
    MLXN_F1(log),
    MLXN_F1(log10),
    MLXN_F1(log1p),
    MLXN_F1(log2),
    MLXN_F1(logb),
    MLXN_F1(nearbyint),
    MLXN_F1(rint),
    MLXN_F1(round),
    MLXN_F1(sin),
    MLXN_F1(sinh),
    MLXN_F1(sqrt),
    MLXN_F1(tan),
    MLXN_F1(tanh),
    MLXN_F1(tgamma),
    MLXN_F1(trunc),
    MLXN_F2(atan2),
    MLXN_F2(copysign),
    MLXN_F2(fdim),
    MLXN_F2(fmax),
    MLXN_F2(fmin),
    MLXN_F2(fmod),
    MLXN_F2(hypot),
    MLXN_F2(nextafter),
    MLXN_F2(pow),
    MLXN_F2(remainder),
    {"fmaf", address<F3>(::fmaf)},
    {"fma", address<D3>(::fma)},
    {"exp10f", address<F1>(::exp10f)},
    {"exp10", address<D1>(::exp10)},
    {"roundevenf", address<F1>(::roundevenf)},
    {"roundeven", address<D1>(::roundeven)},
    {"sincosf", address<void(float, float*, float*)>(::sincosf)},
    {"sincos", address<void(double, double*, double*)>(::sincos)},
    {"ldexpf", address<float(float, int)>(::ldexpf)},
    {"ldexp", address<double(double, int)>(::ldexp)},
    {"scalbnf", address<float(float, int)>(::scalbnf)},
    {"frexpf", address<float(float, int*)>(::frexpf)},
    {"frexp", address<double(double, int*)>(::frexp)},
    {"modff", address<float(float, float*)>(::modff)},
    {"modf", address<double(double, double*)>(::modf)},
    {"remquof", address<float(float, float, int*)>(::remquof)},
    {"ilogbf", address<int(float)>(::ilogbf)},
    {"lrintf", address<long(float)>(::lrintf)},
    {"lroundf", address<long(float)>(::lroundf)},
    {"llrintf", address<long long(float)>(::llrintf)},
    {"llroundf", address<long long(float)>(::llroundf)},
    {"memcpy", address<void*(void*, const void*, size_t)>(::memcpy)},
    {"memmove", address<void*(void*, const void*, size_t)>(::memmove)},
    {"memset", address<void*(void*, int, size_t)>(::memset)},
    {"memcmp", address<int(const void*, const void*, size_t)>(::memcmp)},
    {"bcmp", address<int(const void*, const void*, size_t)>(::memcmp)},
    {"__truncsfhf2", address(truncsfhf2)},
    {"__truncdfhf2", address(truncdfhf2)},
    {"__truncsfbf2", address(truncsfbf2)},
    {"__truncdfbf2", address(truncdfbf2)},
    {"__extendhfsf2", address(extendhfsf2)},
    {"__extendhfdf2", address(extendhfdf2)},
    {"__extendbfsf2", address(extendbfsf2)},
};

#undef MLXN_F1
#undef MLXN_F2

}  // namespace

void* runtime_symbol(std::string_view name) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  return found == std::end(kEntries) ? nullptr : found->address;
}

}  // namespace mlxn::cpu
