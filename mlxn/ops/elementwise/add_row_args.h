// Shared by host and kernel.
#pragma once

#ifndef __METAL_VERSION__
#include <cstdint>
#endif

struct AddRowArgs {
  uint32_t rows, dim;
};
