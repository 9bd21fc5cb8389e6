// What headers of arguments need: they are compiled by host and kernel.
#pragma once

// Defines a number for both: MLXN_CONSTANT uint32_t kTile = 32;
#ifdef __METAL_VERSION__
#define MLXN_CONSTANT constant constexpr
#else
#include <cstdint>
#define MLXN_CONSTANT inline constexpr
#endif
