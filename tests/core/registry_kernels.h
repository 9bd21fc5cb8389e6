// Small kernels and a way to run them without an encoder, for the tests of the kernel registry.
#pragma once

#include "mlxn/base/strings.h"
#include "mlxn/core/kernels/kernel_registry.h"
#include "tests/core/core_test.h"

namespace mlxn::test {

// A kernel that writes `value`.
inline std::string constant_kernel(const std::string& name, const std::string& value) {
  return str("kernel void ", name, "(device int* out [[buffer(0)]]) { out[0] = ", value, "; }\n");
}

inline const char* const kIntKernel = R"(
constant int number [[function_constant(100)]];
constant bool gate [[function_constant(200)]];
constant bool has_gate = is_function_constant_defined(gate);
kernel void int_fc_test_kernel(device int* out [[buffer(0)]]) {
  out[0] = has_gate && gate ? -number : number;
}
kernel void bare_kernel(device int* out [[buffer(0)]]) { out[0] = 1; }
)";

// Runs one thread with `out` at slot 0.
inline void run_once(const Device& device, const Pipeline& pipeline, const Buffer& out) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto* commands = device.metal_queue()->commandBuffer();
  auto* pass = commands->computeCommandEncoder();
  pass->setComputePipelineState(pipeline.metal());
  pass->setBuffer(out.metal_buffer(), out.byte_offset(), 0);
  pass->dispatchThreads({1, 1, 1}, {1, 1, 1});
  pass->endEncoding();
  commands->commit();
  commands->waitUntilCompleted();
  ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted);
}

inline int result_of(const Device& device, const Result<Pipeline>& pipeline) {
  EXPECT_OK(pipeline);
  auto out = device.alloc(Dtype::kI32, {1});
  if (!pipeline || !out) return -999;
  run_once(device, *pipeline, *out);
  return (*out->as_slice<int32_t>())[0];
}

inline FunctionConstants ints(std::initializer_list<std::pair<uint32_t, int32_t>> values) {
  FunctionConstants constants;
  for (auto [index, value] : values) constants.set_int(index, value);
  return constants;
}

}  // namespace mlxn::test
