#pragma once

#include <Metal/Metal.hpp>

#include "mlxn/core/device/open_device.h"

namespace mlxn {

// A Metal device apart from the system's default one; on Apple's Metal the default one.
Result<NS::SharedPtr<MTL::Device>> own_metal_device(const OpenDeviceOptions& options);

}  // namespace mlxn
