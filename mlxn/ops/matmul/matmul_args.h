// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct MatmulArgs {
  uint32_t rows, columns;  // m and n: of the output
  uint32_t depth;          // k: of input and weights
};
