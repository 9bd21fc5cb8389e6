// Timestamps around single dispatches. Internal; belongs to one submission.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Metal/Metal.hpp>

#include "mlxn/core/device/internal/context.h"

namespace mlxn {

class DispatchTimer {
 public:
  // Null when the option is off, or when the device cannot: then one warning for each reason and
  // context.
  static std::unique_ptr<DispatchTimer> create(Context& context);

  // Sample before and after a dispatch, each with a barrier, so the pass runs serially. `entry`
  // holds what is known at encoding; its index is set here. Dispatches that find no sample buffer
  // (creation failed) count as dropped.
  void before(MTL::ComputeCommandEncoder* pass, DispatchEntry entry);
  void after(MTL::ComputeCommandEncoder* pass);

  // Once the command buffer has completed: times go to the context's profile.
  void resolve(const std::string& cb_label);

 private:
  static constexpr uint64_t kDispatchesPerBuffer =
      2048;  // two samples each: 32 KiB, drivers' limit
  explicit DispatchTimer(Context& context, NS::SharedPtr<MTL::CounterSet> timestamps);
  bool add_buffer(std::string& reason);

  Context& context_;  // the submission keeps it
  NS::SharedPtr<MTL::CounterSet> timestamps_;
  std::vector<NS::SharedPtr<MTL::CounterSampleBuffer>> buffers_;
  std::vector<DispatchEntry> entries_;  // of the sampled dispatches
  uint32_t next_index_ = 0;
  bool is_full_ = false;  // no further buffer could be made
  bool open_ = false;     // between before and after of a sampled dispatch
};

}  // namespace mlxn
