// Macros of the MSL headers. __METAL_VERSION__ comes from the front end.
#pragma once
#pragma clang system_header

#define __METAL__ 1
#define __METAL_MACOS__ 1
#define __HAVE_BFLOAT__ 1
#define __HAVE_SIMDGROUP_REDUCTION__ 1
#define __HAVE_SIMDGROUP_MATRIX__ 1
#define __HAVE_ATOMIC_ULONG_VOID_MIN_MAX__ 1
#define __METAL_MEMORY_SCOPE_SYSTEM__ 3
#define __METAL_PRECISE_MATH__ 0
#define __METAL_FAST_MATH__ 1
// Defined as 1 by the front end when fast math is the mode of the library.
#ifndef __METAL_MAYBE_FAST_MATH__
#define __METAL_MAYBE_FAST_MATH__ 0
#endif

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_ALIGN(x) alignas(x)
#define METAL_INTERNAL
#define METAL_CONST const

// Compiled away, as in Metal's libraries for release.
#define assert(...) ((void)0)

#define NULL nullptr
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define HUGE_VALH half(__builtin_inff())
#define MAXFLOAT 0x1.fffffep+127f
#define MAXHALF 65504.0h

#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 0x7fffffff
#define INT_MIN (-0x7fffffff - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-0x7fffffffffffffffl - 1)
#define ULONG_MAX 0xfffffffffffffffful
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX

#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MIN 0x1p-126f
#define FLT_MAX 0x1.fffffep+127f
#define FLT_EPSILON 0x1p-23f
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MIN_EXP (-13)
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MAX_10_EXP 4
#define HALF_MIN 0x1p-14h
#define HALF_MAX 65504.0h
#define HALF_EPSILON 0x1p-10h
#define BFLT_MIN 0x1p-126bf
#define BFLT_MAX 0x1.fep+127bf
#define BFLT_EPSILON 0x1p-7bf

#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f
#define M_E_H 2.71828182845904523536h
#define M_LOG2E_H 1.44269504088896340736h
#define M_LOG10E_H 0.43429448190325182765h
#define M_LN2_H 0.69314718055994530942h
#define M_LN10_H 2.30258509299404568402h
#define M_PI_H 3.14159265358979323846h
#define M_PI_2_H 1.57079632679489661923h
#define M_PI_4_H 0.78539816339744830962h
#define M_1_PI_H 0.31830988618379067154h
#define M_2_PI_H 0.63661977236758134308h
#define M_2_SQRTPI_H 1.12837916709551257390h
#define M_SQRT2_H 1.41421356237309504880h
#define M_SQRT1_2_H 0.70710678118654752440h
