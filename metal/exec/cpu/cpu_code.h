// The code of a kernel in an image, loaded and checked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "metal/exec/cpu/coroutine_scheduler.h"
#include "metal/exec/cpu/object_loader.h"
#include "metal/msl/interface.h"

namespace mlxn::cpu {

// Most bytes of a worker's scratch block, for all that a threadgroup needs.
inline constexpr uint64_t kMaxScratch = uint64_t{1} << 30;

struct CpuCode {
  msl::Kernel kernel;
  std::unique_ptr<LoadedObject> object;
  void* entry = nullptr;  // MslThreadgroupEntry or MslThreadEntry, by kernel.tier
  ThreadOrder thread_order = ThreadOrder::kAscending;  // coroutine tier
  // Indices with an active argument, as bits; the executor checks that they are bound.
  uint32_t needed_buffers = 0, needed_threadgroup_memory = 0;
  // Measured time of a threadgroup, 0 before the first run. A hint for scheduling only.
  mutable std::atomic<uint64_t> ns_per_threadgroup{0};

  // Whether neighbouring threadgroups along x may run as one.
  bool can_merge() const { return kernel.tier == msl::Tier::kWorkItemLoop && kernel.grid_only; }
  bool is_coroutine() const { return kernel.tier == msl::Tier::kCoroutine; }
};

// Makes an image's kernel executable. `target` is what this machine runs: code for it, or for a
// plain level below it.
Result<std::shared_ptr<const CpuCode>> load_code(const msl::Image& image, const std::string& kernel,
                                                 const msl::Target& target, ThreadOrder order);

}  // namespace mlxn::cpu
