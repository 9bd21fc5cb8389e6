// What all handles of one device share. Internal.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <Metal/Metal.hpp>

#include "mlxn/base/recycled.h"
#include "mlxn/core/device/counters.h"
#include "mlxn/core/device/device.h"
#include "mlxn/core/device/options.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/core/memory/internal/residency.h"
#include "mlxn/core/profile/profile.h"

namespace mlxn {

class Context {
 public:
  Context(MTL::Device* device, RuntimeOptions options);
  ~Context();  // writes the trace, if asked for

  // Warns the first time it is called for this reason in this context.
  enum class Warning { kSamplingUnsupported, kNoTimestamps, kSampleBuffer, kSampleDropped, kCount };
  void warn_once(Warning warning, const std::string& text);

  // Submissions report here, so that nobody has to keep them to learn of a failure.
  void submission_began();
  void submission_ended(uint64_t submission, const std::optional<Error>& error);
  // Somebody has been given this submission's error.
  void error_observed(uint64_t submission);
  // Waits until nothing is in flight; the first error that nobody has seen, once.
  Status synchronize();

  const NS::SharedPtr<MTL::Device> device;
  const RuntimeOptions options;
  const uint64_t id;
  DeviceLimits limits;
  CounterBlock counters;
  Profile profile;
  KernelRegistry kernels;
  std::unique_ptr<ResidencySet> residency;  // null: none

 private:
  std::atomic<uint32_t> warned_{0};
  std::mutex mutex_;
  std::condition_variable idle_;
  uint64_t in_flight_ = 0;
  std::optional<std::pair<uint64_t, Error>> unseen_error_;  // of this submission
};

class Submission;

// A command queue with the context's residency set attached as long as it lives.
class Queue {
 public:
  Queue(std::shared_ptr<Context> context, NS::SharedPtr<MTL::CommandQueue> queue);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Keeps a submission until its command buffer calls `on_completed`. That is one function for all
  // of them: a function of their own would be a piece of the heap for each.
  void keep(std::shared_ptr<Submission> submission);

  const std::shared_ptr<Context> context;
  const NS::SharedPtr<MTL::CommandQueue> metal;
  const MTL::HandlerFunction on_completed;

 private:
  std::shared_ptr<Submission> take(const MTL::CommandBuffer* commands);

  std::mutex mutex_;
  RecycledVector<std::shared_ptr<Submission>> running_;
};

}  // namespace mlxn
