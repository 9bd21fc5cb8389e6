// One dispatch, checked and laid out once, then run by any number of workers.
#pragma once

#include <cstdint>
#include <span>

#include "metal/exec/cpu/cpu_pipeline.h"
#include "metal/exec/cpu/kernel_guard.h"
#include "metal/exec/cpu/scratch.h"
#include "metal/msl/kernel_abi.h"
#include "metal/rt/executor/executor.h"

namespace mlxn::cpu {

class PreparedDispatch {
 public:
  // Checks bindings, sizes and limits so that running is safe as far as the kernel is; reads
  // indirect counts. To be called once on a new object; `list` must outlive it.
  Status prepare(const rt::Dispatch& dispatch, const rt::CommandList& list);

  const CpuCode& code() const { return *code_; }
  uint64_t threadgroups() const { return threadgroups_; }  // 0: nothing to do

  // Runs threadgroups [begin, end), numbered with x fastest. A fault of the kernel is an error;
  // once `stop` is set, the kernel may be left at any place, with kTimeout.
  Status run(uint64_t begin, uint64_t end, Scratch& scratch, const StopFlag* stop) const;

 private:
  Status set_grid(const rt::Dispatch& dispatch);
  Status choose_code(const CpuPipeline& pipeline);
  // Whether the code there is runs every threadgroup size of the grid; a ragged one has up to 8.
  Status check_sizes() const;
  Status bind(const rt::Dispatch& dispatch, const rt::CommandList& list);
  struct ScratchNeeds {
    uint64_t threadgroup_memory = 0, frames = 0, simdgroups = 0, context = 0;  // bytes
    uint32_t arguments = 0;  // indices with an active threadgroup argument, as bits
  };
  ScratchNeeds scratch_needs() const;
  Status size_scratch(const rt::Dispatch& dispatch, const rt::CommandList& list);
  Status lay_out(MslThreadgroup& group, Scratch& scratch) const;
  // Which needed argument has nothing bound.
  Error missing_argument(msl::ArgumentKind kind, uint32_t missing) const;
  Status run_rows(MslThreadgroup& group, uint64_t count) const;
  Error explain(const KernelFault& fault, const MslThreadgroup& group) const;
  std::string place_of(uintptr_t address, const MslThreadgroup& group) const;
  // Run threadgroups from group.position on, along x: within a row; of the size in `group`.
  Status run_row(MslThreadgroup& group, unsigned count) const;
  Status run_alike(MslThreadgroup& group, unsigned count) const;
  // The code for a threadgroup; check_sizes has seen that there is some.
  const CpuCode& code_for(const unsigned size[3]) const {
    return !edge_ || code_->kernel.shape.covers(size) ? *code_ : *edge_;
  }

  const CpuCode* code_ = nullptr;
  const CpuCode* edge_ = nullptr;  // for threadgroups code_ does not cover; null: none
  MslDispatch abi_{};
  uint64_t threadgroups_ = 0;
  std::span<const rt::Binding> bindings_;
  std::span<const rt::ThreadgroupMemory> threadgroup_buffers_;
  ScratchNeeds scratch_;  // of any threadgroup
};

}  // namespace mlxn::cpu
