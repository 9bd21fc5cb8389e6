// The code of one pipeline. Code for kernels that threads run in step is made for certain
// threadgroup sizes (msl::Shape); what a dispatch needs beyond that is compiled when it is encoded.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "metal/exec/cpu/cpu_code.h"
#include "metal/rt/executor/executor.h"

namespace mlxn::cpu {

// What runs the threadgroups of a dispatch.
struct DispatchCode {
  const CpuCode* code = nullptr;
  const CpuCode* edge = nullptr;  // for sizes `code` does not cover; null when there are none
};

// Thread-safe. Code that was given out lives as long as this.
class PipelineCode {
 public:
  // Sizes that get code of their own; more of them share code for any size.
  static constexpr size_t kMaxExact = 4;

  using Make = std::function<Result<std::shared_ptr<const CpuCode>>(const msl::Shape&)>;

  explicit PipelineCode(std::shared_ptr<const CpuCode> first) : first_(std::move(first)) {}

  const CpuCode& first() const { return *first_; }
  // Whether the first code runs every dispatch.
  bool covers_all() const { return first_->kernel.shape.kind == msl::Shape::Kind::kAny; }

  // Code for all threadgroups of a grid of less than 2^32 threads in each dimension, in groups of 1
  // to 1024. Whole threadgroups get code for their size; the smaller ones at the edges, whose sizes
  // depend on the data, share code for any size. What is missing comes from `make`, once: who asks
  // for it meanwhile waits. An error of `make` is not kept.
  Result<DispatchCode> choose(const rt::Size3& grid, const rt::Size3& group, const Make& make);

 private:
  struct Slot {
    std::shared_ptr<const CpuCode> owner;
    std::atomic<const CpuCode*> code{nullptr};  // set once, after owner
  };

  const CpuCode* find(const uint32_t size[3]) const;
  Result<const CpuCode*> for_size(const uint32_t size[3], const Make& make);
  Result<const CpuCode*> for_any(const Make& make);
  static Result<const CpuCode*> fill(Slot& slot, const msl::Shape& shape, const Make& make);

  const std::shared_ptr<const CpuCode> first_;
  std::mutex mutex_;  // held while something is made
  std::array<Slot, kMaxExact> exact_;
  Slot any_;
};

}  // namespace mlxn::cpu
