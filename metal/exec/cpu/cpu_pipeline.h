#pragma once

#include "metal/exec/cpu/pipeline_code.h"

namespace mlxn::cpu {

// How a pipeline's code is made.
struct CodeOptions {
  msl::Target target;
  int forced_tier = -1;
  ThreadOrder thread_order = ThreadOrder::kAscending;
};

class CpuPipeline : public rt::Pipeline {
 public:
  // Code for the size that is required, else for the most usual sizes.
  static Result<std::shared_ptr<rt::Pipeline>> load(const std::string& name,
                                                    const rt::Size3& required,
                                                    const CodeOptions& options,
                                                    rt::CompileKernel compile);

  CpuPipeline(std::shared_ptr<const CpuCode> first, const CodeOptions& options,
              rt::CompileKernel compile);

  Status prepare(const rt::Size3& grid, const rt::Size3& group) const override;
  // The code for a dispatch: nothing is compiled once it is prepared.
  Result<DispatchCode> choose(const rt::Size3& grid, const rt::Size3& group) const;

 private:
  const CodeOptions options_;
  const rt::CompileKernel compile_;
  mutable PipelineCode code_;
};

}  // namespace mlxn::cpu
