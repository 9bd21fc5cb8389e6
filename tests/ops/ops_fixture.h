// Devices that op tests run on. Pipelines are kept for all tests of a device, and on disk.
#pragma once

#include <gtest/gtest.h>

#include <Metal/Metal.hpp>
#include <mlxn/metal_extensions.hpp>
#include <string>
#include <vector>

#include "mlxn/ops/builtin_kernels.h"

namespace mlxn::test {

struct OpDevice {
  OpDevice(std::string executor, uint32_t workers, uint64_t schedule_seed)
      : name(executor + " " + std::to_string(workers)),
        device(make(std::move(executor), workers, schedule_seed)) {}

  std::string name;
  Device device;
  KernelRegistry& kernels() const { return builtin_registry(device); }

 private:
  static Device make(std::string executor, uint32_t workers, uint64_t schedule_seed) {
    metal::DeviceOptions options;
    options.executor = std::move(executor);
    options.worker_count = workers;
    options.schedule_seed = schedule_seed;
    options.cache_folder = MLXN_TEST_CACHE;
    NS::Error* error = nullptr;
    auto metal_device = NS::TransferPtr(metal::create_device(options, &error));
    EXPECT_TRUE(metal_device) << error->localizedDescription()->utf8String();
    EXPECT_EQ(metal::describe_device(metal_device.get()).worker_count, workers);
    return *Device::wrap(metal_device.get(), RuntimeOptions{});
  }
};

// The CPU with one worker, and with two that take threadgroups in any order; a device with memory
// and threads of its own.
inline std::vector<OpDevice*> op_devices() {
  static OpDevice one("cpu", 1, 0), two("cpu", 2, 99), discrete("discrete", 2, 7);
  return {&one, &two, &discrete};
}

}  // namespace mlxn::test
