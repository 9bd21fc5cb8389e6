#pragma once

#include <cstdint>

namespace mlxn::tiers {

// From now on, memory that a kernel may read before it writes (threadgroup memory, frames,
// contexts, the unused part of the stack) holds this byte. A kernel whose result depends on it
// reads what it never wrote. Works for programs that link scrub.cpp, which replaces aligned_alloc.
void scrub(uint8_t byte);

}  // namespace mlxn::tiers
