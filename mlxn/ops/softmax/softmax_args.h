// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct SoftmaxArgs {
  uint32_t columns;
};
