// A session of two stages with a kernel of our own: sums = (2 * a + 1) + b. Prints where the time
// went and ends with 1 when a result is wrong.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "mlxn/core/encode/session.h"

#include <cstdio>

#include "mlxn/core/kernels/kernel_registry.h"
#include "mlxn/ops/elementwise/elementwise.h"

using namespace mlxn;

const char* const kSource = R"(
kernel void scale_and_shift(device const float* in [[buffer(0)]], device float* out [[buffer(1)]],
                            constant float2& line [[buffer(2)]],
                            uint i [[thread_position_in_grid]]) {
  out[i] = line.x * in[i] + line.y;
})";

Status run() {
  constexpr uint64_t kCount = 1 << 20;
  RuntimeOptions options = RuntimeOptions::from_settings();
  options.profile_command_buffers = true;
  MLXN_ASSIGN(Device device, Device::create(options));

  device.kernels().register_source("scale_and_shift", kSource);
  MLXN_ASSIGN(Pipeline pipeline, device.kernels().get_pipeline("scale_and_shift", device));

  MLXN_ASSIGN(Buffer a, device.alloc(Dtype::kF32, {kCount}));  // zero-filled, seen by the host
  MLXN_ASSIGN(Buffer b, device.alloc(Dtype::kF32, {kCount}));
  MLXN_ASSIGN(Buffer sums, device.alloc(Dtype::kF32, {kCount}));
  MLXN_ASSIGN(auto values, a.as_mut_slice<float>());
  for (uint64_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i % 1000);

  MLXN_ASSIGN(EncoderSession session, device.encoder_session());
  const float line[2] = {2.0f, 1.0f};
  MLXN_TRY(session.encoder().dispatch({.pipeline = pipeline,
                                       .bindings = {{0, a}, {1, b}, {2, as_bytes(line)}},
                                       .grid = {kCount, 1, 1},
                                       .threadgroup = {256, 1, 1},
                                       .kind = DispatchKind::kThreads}));
  MLXN_TRY(session.fence_stage("scale"));  // submits; the next stage waits for it on the GPU
  MLXN_TRY(session.reset_for_next_stage());
  session.begin_stage("add");
  MLXN_TRY(elementwise_add(session.encoder(), {a, b, sums}));
  MLXN_TRY(session.commit_and_wait());

  MLXN_ASSIGN(auto results, sums.as_slice<float>());
  for (uint64_t i = 0; i < kCount; ++i) {
    if (results[i] != 3 * values[i] + 1) return Error(ErrorCode::kInternal, "a sum is wrong");
  }
  for (const auto& [label, entry] : device.profile().dump()) {
    std::printf("%-8s %8.1f us on %s\n", label.c_str(), entry.total_ns / 1e3,
                device.name().c_str());
  }
  return {};
}

int main() {
  Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return status ? 0 : 1;
}
