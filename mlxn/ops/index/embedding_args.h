// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct EmbeddingArgs {
  uint64_t rows;  // of the table
  uint32_t dim;
};
