// Shared by host and kernel.
#pragma once

#include "mlxn/base/kernel_shared.h"

MLXN_CONSTANT uint32_t kCopyTile = 64;

// Dimensions outermost first; strides and offsets count elements.
struct CopyArgs {
  uint64_t source_strides[4], destination_strides[4];
  uint64_t source_offset, destination_offset;
  uint32_t sizes[4];
};

struct PadArgs {
  uint64_t source_strides[4];
  uint32_t sizes[4];         // of the destination
  uint32_t source_sizes[4];  // a box within it,
  uint32_t begin[4];         // from here on
  uint32_t value;            // the bits of an element outside of it
};
