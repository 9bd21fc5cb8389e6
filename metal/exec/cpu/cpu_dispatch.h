// One dispatch, checked and laid out once, then run by any number of workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "metal/exec/cpu/object_loader.h"
#include "metal/exec/cpu/scratch.h"
#include "metal/msl/kernel_abi.h"
#include "metal/rt/executor.h"

namespace mlxn::cpu {

class CpuPipeline : public rt::Pipeline {
 public:
  std::unique_ptr<LoadedObject> object;
  void* entry = nullptr;  // MslThreadgroupEntry or MslThreadEntry, by kernel.tier
  // Indices with an active argument, as bits; the executor checks that they are bound.
  uint32_t needed_buffers = 0, needed_threadgroup_memory = 0;
  // Measured time of a threadgroup, 0 before the first run. A hint for scheduling only.
  mutable std::atomic<uint64_t> ns_per_threadgroup{0};
};

// Makes an image's kernel executable; `target` is the key of the code this machine runs.
Result<std::shared_ptr<rt::Pipeline>> load_pipeline(const msl::Image& image,
                                                    const std::string& kernel,
                                                    const std::string& target);

class PreparedDispatch {
 public:
  // Checks bindings, sizes and limits so that running is safe as far as the kernel is; reads
  // indirect counts. To be called once on a new object; `list` must outlive it.
  Status prepare(const rt::Dispatch& dispatch, const rt::CommandList& list);

  const CpuPipeline& pipeline() const { return *pipeline_; }
  uint64_t threadgroups() const { return threadgroups_; }  // 0: nothing to do

  // Runs threadgroups [begin, end), numbered with x fastest.
  Status run(uint64_t begin, uint64_t end, Scratch& scratch) const;

 private:
  struct ThreadgroupBuffer {
    uint32_t index;
    uint64_t offset;  // in the worker's scratch block
  };

  Status set_grid(const rt::Dispatch& dispatch);
  Status bind(const rt::Dispatch& dispatch, const rt::CommandList& list);
  Status lay_out_scratch(const rt::Dispatch& dispatch, const rt::CommandList& list);
  // Which needed argument has nothing bound.
  Error missing_argument(msl::ArgumentKind kind, uint32_t missing) const;

  const CpuPipeline* pipeline_ = nullptr;
  MslDispatch abi_{};
  uint64_t threadgroups_ = 0;
  std::vector<ThreadgroupBuffer> threadgroup_buffers_;
  uint64_t frames_offset_ = 0, simdgroups_offset_ = 0, scratch_bytes_ = 0;
};

}  // namespace mlxn::cpu
