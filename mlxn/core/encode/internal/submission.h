// One command buffer from its creation to its completion. Internal.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mlxn/base/recycled.h"
#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/kernels/pipeline.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/core/profile/internal/dispatch_timer.h"

namespace mlxn {

// Holds everything its commands use until the GPU is done with it, whatever Metal retains, and
// collects times, samples and the error when the command buffer completes: by itself, or in `wait`.
// Encoding is for one thread; waiting is thread-safe.
class Submission : public std::enable_shared_from_this<Submission> {
 public:
  explicit Submission(std::shared_ptr<Queue> queue);
  // Waits for a command buffer that was committed past `commit`: it uses what is held here.
  ~Submission();

  // The command buffer, created when first asked for: one that is never used costs no place in the
  // queue.
  Result<MTL::CommandBuffer*> command_buffer();
  bool has_command_buffer() const { return static_cast<bool>(commands_); }
  bool is_of(const MTL::CommandBuffer* commands) const { return commands_.get() == commands; }

  // The mark on the object makes most repetitions free; two encoders that share it on different
  // threads at worst hold it twice.
  void use(const std::shared_ptr<Storage>& storage) {
    if (storage->last_submission.load(std::memory_order_relaxed) == id_) return;
    storage->last_submission.store(id_, std::memory_order_relaxed);
    storages_.push_back(storage);
  }
  void use(const std::shared_ptr<const Pipeline::State>& pipeline) {
    if (pipeline->last_submission.load(std::memory_order_relaxed) == id_) return;
    pipeline->last_submission.store(id_, std::memory_order_relaxed);
    pipelines_.push_back(pipeline);
  }
  void use(std::shared_ptr<const void> object) { objects_.push_back(std::move(object)); }

  // Created at the first call, when dispatches are profiled and the device can.
  DispatchTimer* timer();

  void set_label(const std::string& label);
  const std::string& label() const { return label_; }
  // Called when the command buffer has ended, before `wait` returns; set before commit.
  void on_failure(std::function<void(const Error&)> action) { on_failure_ = std::move(action); }

  // A command buffer that somebody committed already is waited for; then it is kInvalidState.
  Status commit();
  bool committed() const { return committed_; }
  // Blocks until completed. Every call returns the same result. kInvalidState before commit.
  Status wait();
  // The error so far, without blocking; empty while running.
  std::optional<Error> error() const;
  bool done() const { return done_.load(std::memory_order_acquire); }

  // Seconds on the GPU's clock; after completion.
  double gpu_start() const { return gpu_start_; }
  double gpu_end() const { return gpu_end_; }

  uint32_t dispatches = 0, barriers = 0;  // encoded, for the profile

  // When the command buffer has ended; all calls but the first do nothing.
  void complete(MTL::CommandBuffer* commands);

 private:
  void record(const std::optional<Error>& error);

  const std::shared_ptr<Queue> queue_;
  const std::shared_ptr<Context>& context_;  // of queue_
  const uint64_t id_;
  NS::SharedPtr<MTL::CommandBuffer> commands_;
  std::string label_;
  RecycledVector<std::shared_ptr<Storage>> storages_;
  RecycledVector<std::shared_ptr<const Pipeline::State>> pipelines_;
  RecycledVector<std::shared_ptr<const void>> objects_;
  std::unique_ptr<DispatchTimer> timer_;
  bool timer_asked_ = false;
  std::function<void(const Error&)> on_failure_;
  std::atomic<bool> committed_{false}, done_{false};
  std::once_flag completed_;
  std::optional<Error> error_;
  double gpu_start_ = 0, gpu_end_ = 0;
};

}  // namespace mlxn
