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
  Result<std::shared_ptr<Pipeline>> load(const msl::Image& image,
                                         const std::string& kernel) override;
  Status run(const CommandList& list, RunTimes& times) override;
  uint64_t timestamp_ns() const override { return inner_->timestamp_ns(); }
  uint64_t allocated_bytes() const override { return inner_->allocated_bytes(); }
  std::vector<std::string> take_record() override { return inner_->take_record(); }

 private:
  // Counts a call; an error when it is the one to fail.
  Status pass(metal::Fault fault, ErrorCode code, const char* what);

  const std::unique_ptr<Executor> inner_;
  std::array<std::atomic<uint64_t>, 3> calls_left_ = {};  // up to and with the failing one; 0: none
};

}  // namespace mlxn::rt
