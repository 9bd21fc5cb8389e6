#include "mlxn/core/device/open_device.h"

#include "mlxn/core/device/internal/own_metal_device.h"

namespace mlxn {

Result<Device> open_device(OpenDeviceOptions options) {
  if (!options.runtime.serial_dispatch) options.runtime.auto_barrier = true;
  if (options.threads == 0 && options.target.empty() && options.executor.empty())
    return Device::create(std::move(options.runtime));
  MLXN_ASSIGN(const NS::SharedPtr<MTL::Device> device, own_metal_device(options));
  return Device::wrap(device.get(), std::move(options.runtime));
}

}  // namespace mlxn
