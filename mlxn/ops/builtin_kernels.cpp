#include "mlxn/ops/builtin_kernels.h"

#include "mlxn/core/kernels/kernel_archive.h"

namespace mlxn {

void add_builtin_kernels(KernelRegistry& registry) {
  for (const std::span<const std::byte> archive : builtin_archives()) add_kernel_archive(archive);
  for (const BuiltinKernels& file : builtin_kernels()) {
    registry.register_library(std::string(file.name), std::string(file.text));
  }
}

KernelRegistry& builtin_registry(const Device& device) {
  device.kernels().add_once("mlxn/ops", add_builtin_kernels);
  return device.kernels();
}

Result<Pipeline> builtin_pipeline(const Device& device, std::string_view kernel) {
  return builtin_registry(device).get_pipeline(kernel, device);
}

}  // namespace mlxn
