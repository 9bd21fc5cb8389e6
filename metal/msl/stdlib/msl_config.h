// How library functions are declared.
#pragma once
#pragma clang system_header

#include "kernel_abi.h"

// Every function is inlined into the kernel: barriers are lowered per kernel and loops over work
// items are vectorised only when no call is left.
#define __MSL_FN inline __attribute__((__MSL_INLINE))
#define __MSL_CONSTEXPR_FN inline constexpr __attribute__((__MSL_INLINE))
// For members and friends defined in a class.
#define __MSL_MEMBER constexpr __attribute__((__MSL_INLINE))

// The register calling convention hands vectors over component by component. The usual one packs
// them into pairs, and what it leaves behind after inlining keeps loops over work items from
// vectorising.
#ifdef __x86_64__
#define __MSL_INLINE always_inline, nodebug, regcall
#else
#define __MSL_INLINE always_inline, nodebug
#endif

#define __MSL_CAT_(a, b) a##b
#define __MSL_CAT(a, b) __MSL_CAT_(a, b)

// A template parameter that exists only when the condition holds.
#define __MSL_IF(...) typename ::__msl::enable<(__VA_ARGS__)>::type = 0

namespace __msl {
template <bool condition>
struct enable {};
template <>
struct enable<true> {
  using type = int;
};
}  // namespace __msl
