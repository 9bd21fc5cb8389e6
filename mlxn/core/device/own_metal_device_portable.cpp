// For our own Metal; the build takes own_metal_device_apple.cpp with Apple's.
#include <mlxn/metal_extensions.hpp>

#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/device/internal/own_metal_device.h"

namespace mlxn {

Result<NS::SharedPtr<MTL::Device>> own_metal_device(const OpenDeviceOptions& options) {
  AutoreleaseScope scope;
  metal::DeviceOptions metal_options;
  metal_options.executor = options.executor;
  metal_options.worker_count = options.threads;
  metal_options.cpu_target = options.target;
  NS::Error* error = nullptr;
  auto device = NS::TransferPtr(metal::create_device(metal_options, &error));
  if (!device) return Error(ErrorCode::kDeviceNotFound, to_text(error));
  return device;
}

}  // namespace mlxn
