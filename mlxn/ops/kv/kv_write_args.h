// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct KvWriteArgs {
  uint32_t sequences, heads, capacity, dim;
};
