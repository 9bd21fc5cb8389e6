// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct ArgmaxArgs {
  uint32_t dim;
};
