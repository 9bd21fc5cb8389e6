// Compiles the built-in kernels for one level of machines and writes them as an archive to embed.
//   precompile LEVEL OUTPUT CACHE      for example: precompile x86-64-v3 builtin-v3.bin
//   build/kernels
// CACHE is a folder that keeps compiled kernels, so that only those that changed are compiled anew.
// A level that adds nothing but products of packed numbers gets the kernels that have some;
// machines take the others from the level below.
#define NS_PRIVATE_IMPLEMENTATION
#define CA_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>
#include <cstdio>
#include <fstream>
#include <mlxn/metal_extensions.hpp>
#include <string>

#include "mlxn/base/strings.h"
#include "mlxn/ops/builtin_kernels.h"

namespace mlxn {
namespace {

Result<NS::SharedPtr<MTL::Device>> open_device(const std::string& level,
                                               const std::string& cache_folder) {
  NS::Error* error = nullptr;
  metal::DeviceOptions options;
  options.executor = "cpu";
  options.cpu_target = level;
  options.cache_folder = cache_folder;
  options.foreign_target = true;
  auto device = NS::TransferPtr(metal::create_device(options, &error));
  if (device) return device;
  return Error(ErrorCode::kDeviceNotFound, error->localizedDescription()->utf8String());
}

bool adds_packed_products(std::string_view level) {
  return level.ends_with("-vnni") || level.ends_with("-dot");
}

bool has_packed_products(const BuiltinKernels& kernels) {
  return kernels.text.find("dot4(") != kernels.text.npos ||
         kernels.text.find("dot2(") != kernels.text.npos;
}

// The same way as an op asks for its kernel, so that the same keys are found again.
Status compile_all(MTL::Device* metal_device, std::string_view level) {
  MLXN_ASSIGN(const Device device, Device::wrap(metal_device));
  KernelRegistry& registry = device.kernels();
  for (const BuiltinKernels& file : builtin_kernels()) {
    if (adds_packed_products(level) && !has_packed_products(file)) continue;
    registry.register_library(std::string(file.name), std::string(file.text));
  }
  MLXN_ASSIGN(const std::vector<std::string> names, registry.kernel_names(device));
  std::vector<PipelineRequest> requests;
  for (const std::string& name : names) requests.push_back({name});
  return registry.prewarm(device, requests, 1);
}

Status precompile(const std::string& level, const std::string& path,
                  const std::string& cache_folder) {
  MLXN_ASSIGN(const NS::SharedPtr<MTL::Device> device, open_device(level, cache_folder));
  MLXN_TRY(compile_all(device.get(), level));
  const NS::Data* archive = metal::serialize_kernels(device.get());
  if (!archive) return Error(ErrorCode::kInternal, "the kernels cannot be compressed");
  std::ofstream out(path, std::ios::binary);
  out.write(static_cast<const char*>(archive->mutableBytes()),
            static_cast<std::streamsize>(archive->length()));
  if (!out.flush()) return Error(ErrorCode::kIo, str("cannot write '", path, "'"));
  return {};
}

}  // namespace
}  // namespace mlxn

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "Usage: precompile LEVEL OUTPUT CACHE\n");
    return 2;
  }
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  const mlxn::Status status = mlxn::precompile(argv[1], argv[2], argv[3]);
  if (!status) std::fprintf(stderr, "precompile: %s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
