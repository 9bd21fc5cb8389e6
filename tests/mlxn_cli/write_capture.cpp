// Writes a frame capture of one small session to the path given: what `mlxn replay` reads. With
// "racy" behind it, the barrier is left out.
#include <cstdio>
#include <cstring>

#include "mlxn/core/encode/session.h"
#include "mlxn/core/profile/gpu_trace.h"
#include "mlxn/ops/elementwise/elementwise.h"

namespace mlxn {
namespace {

Status write(const char* path, bool racy) {
  MLXN_ASSIGN(Device device, Device::create());
  MLXN_ASSIGN(Buffer a, device.alloc(Dtype::kF32, {1024}));
  MLXN_ASSIGN(Buffer b, device.alloc(Dtype::kF32, {1024}));
  MLXN_ASSIGN(auto values, a.as_mut_slice<float>());
  for (float& value : values) value = 1.5f;
  MLXN_ASSIGN(GpuTrace capture, GpuTrace::start(device, path));
  MLXN_ASSIGN(CommandEncoder encoder, device.command_encoder());
  MLXN_TRY(elementwise_add(encoder, {a, a, b}));
  if (!racy) MLXN_TRY(encoder.memory_barrier());
  MLXN_TRY(elementwise_mul(encoder, {b, b, a}));
  MLXN_TRY(encoder.commit_and_wait());
  capture.end();
  return {};
}

}  // namespace
}  // namespace mlxn

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  mlxn::Status status = mlxn::write(argv[1], argc == 3 && std::strcmp(argv[2], "racy") == 0);
  if (!status) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
