#include "mlxn/core/device/internal/own_metal_device.h"

namespace mlxn {

Result<NS::SharedPtr<MTL::Device>> own_metal_device(const OpenDeviceOptions&) {
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  if (!device) {
    return Error(ErrorCode::kDeviceNotFound, "no Metal GPU device found on this system");
  }
  return device;
}

}  // namespace mlxn
