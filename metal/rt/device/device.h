#pragma once

#include <memory>

#include "metal/rt/cache/kernel_cache.h"
#include "metal/rt/executor/fault_executor.h"
#include "metal/rt/foundation/foundation.h"
#include "metal/rt/queue/serial_worker.h"
#include "mlxn/metal_extensions.hpp"

MLXN_RT_OBJECT(MTL::Device, DeviceObject)
MLXN_RT_OBJECT(MTL::Architecture, ArchitectureObject)

namespace mlxn::rt {

class ArchitectureObject : public Object {
 public:
  using Api = MTL::Architecture;
  Label name;
};

class DeviceObject : public Object {
 public:
  using Api = MTL::Device;
  static Result<Ref<DeviceObject>> create(const metal::DeviceOptions& options);

  std::string description() const override { return info().name; }
  FaultExecutor& executor() const { return *executor_; }
  const DeviceInfo& info() const { return executor_->info(); }
  const metal::DeviceOptions& options() const { return options_; }
  KernelCache& cache() const { return *cache_; }
  // Whether wrong calls that do no harm are errors all the same.
  bool validates() const { return validates_; }

  Ref<StringObject> name;
  Ref<ArchitectureObject> architecture;
  Ref<ArrayObject> counterSets;
  uint64_t registryID = 0;
  std::atomic<bool> shouldMaximizeConcurrentCompilation = false;

 private:
  std::unique_ptr<FaultExecutor> executor_;
  metal::DeviceOptions options_;
  bool validates_ = false;
  std::unique_ptr<KernelCache> cache_;
};

// Runs compilations whose result goes to a handler.
SerialWorker& compile_worker();

}  // namespace mlxn::rt
