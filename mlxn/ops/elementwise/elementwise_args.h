// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct ElementwiseArgs {
  uint32_t count;
};
