// Words of headers that both host and kernels compile.
#pragma once

// MLXN_CONSTANT uint32_t kTile = 32; defines a number or a table for both.
#ifdef __METAL_VERSION__
#define MLXN_DEVICE device
#define MLXN_THREAD thread
#define MLXN_CONSTANT constant constexpr
#else
#include <cstdint>
#define MLXN_DEVICE
#define MLXN_THREAD
#define MLXN_CONSTANT inline constexpr
#endif
