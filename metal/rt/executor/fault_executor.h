// An executor in front of another one that can be told to fail: see mlxn::metal::inject_fault.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "metal/rt/executor/executor.h"
#include "mlxn/metal_extensions.hpp"

namespace mlxn::rt {

class FaultExecutor : public Executor {
 public:
  explicit FaultExecutor(std::unique_ptr<Executor> inner) : inner_(std::move(inner)) {}

  // The call of this kind after `after` others fails.
  void inject(metal::Fault fault, uint64_t after);

  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::shared_ptr<Memory>> allocate(uint64_t size, Storage storage) override;
  Result<std::shared_ptr<Memory>> wrap(void* host, uint64_t size) override;
  Result<std::shared_ptr<Pipeline>> load(const std::string& kernel, const Size3& required,
                                         CompileKernel compile) override;
  // Runs are counted when they come, by steps in front of the lists of what is submitted while a
  // fault is to come.
  std::unique_ptr<Stream> create_stream() override;
  std::unique_ptr<Event> create_event() override { return inner_->create_event(); }
  uint64_t timestamp_ns() const override { return inner_->timestamp_ns(); }
  uint64_t allocated_bytes() const override { return inner_->allocated_bytes(); }
  std::vector<std::string> take_record() override { return inner_->take_record(); }
  uint64_t host_round_trips() const override { return inner_->host_round_trips(); }

  // Whether a call of this kind is still to fail.
  bool expects(metal::Fault fault) const {
    return calls_left_[static_cast<size_t>(fault)].load(std::memory_order_relaxed) != 0;
  }
  // Counts a call; an error when it is the one to fail.
  Status pass(metal::Fault fault, ErrorCode code, const char* what);

 private:
  const std::unique_ptr<Executor> inner_;
  std::array<std::atomic<uint64_t>, 3> calls_left_ = {};  // up to and with the failing one; 0: none
};

}  // namespace mlxn::rt
