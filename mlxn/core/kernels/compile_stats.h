#pragma once

#include <cstdint>

#include "mlxn/core/device/device.h"

namespace mlxn {

// Where a device's compiled kernels came from, over all registries. Apple's Metal does not tell:
// there `known` is false and the rest zero.
struct CompileStats {
  bool known = false;
  uint64_t compiled = 0;     // by the compiler
  uint64_t from_disk = 0;    // from the cache folder
  uint64_t from_memory = 0;  // shared with an earlier one of this process
};

CompileStats compile_stats(const Device& device);

}  // namespace mlxn
