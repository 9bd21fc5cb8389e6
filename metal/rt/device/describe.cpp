// What tools show about a device and the compiler.
#include "metal/msl/module.h"
#include "metal/rt/device/device.h"

namespace mlxn::metal {

DeviceDescription describe_device(const MTL::Device* device) {
  DeviceDescription out;
  const auto* self = rt::impl(device);
  if (!self) return out;
  const rt::DeviceInfo& info = self->info();
  out.executor = info.executor;
  out.worker_count = info.worker_count;
  out.target_cpu = info.target.cpu;
  out.target_features = info.target.features;
  out.cache_folder = self->cache().folder();
  out.cache_max_bytes = self->cache().max_disk_bytes();
  return out;
}

CompilerDescription describe_compiler() {
  CompilerDescription out;
  out.version = msl::code_version();
  if (auto place = msl::find_module()) {
    out.path = place->path;
    out.found_by = place->found_by;
  }
  auto compiler = msl::compiler();
  if (!compiler) out.problem = compiler.error().message();
  return out;
}

}  // namespace mlxn::metal
