// For our own Metal; the build takes compile_stats_apple.cpp with Apple's.
#include <mlxn/metal_extensions.hpp>

#include "mlxn/core/kernels/compile_stats.h"

namespace mlxn {

CompileStats compile_stats(const Device& device) {
  const metal::CacheCounters counters = metal::cache_counters(device.metal_device());
  return {.known = true,
          .compiled = counters.misses,
          .from_disk = counters.disk_hits,
          .from_memory = counters.memory_hits};
}

}  // namespace mlxn
