// compat: excluded (levels of x86-64 are ours)
// Kernels for other levels of x86-64 than the machine's own.
#include "api_test.h"
#include "mlxn/base/settings.h"

namespace mlxn_test {
namespace {

using mlxn::ScopedSetting;
using mlxn::Setting;
using ::testing::HasSubstr;

class TargetTest : public KernelTest {};

TEST_F(TargetTest, WhatTheMachineCannotRunIsRefused) {
  ScopedSetting target(Setting::kCpuTarget, "x86-64-v9");
  mlxn::metal::DeviceOptions options;
  options.executor = "cpu";
  NS::Error* error = nullptr;
  EXPECT_EQ(mlxn::metal::create_device(options, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("cpu_target 'x86-64-v9', expected a level up to x86-64"));
  EXPECT_THAT(text(error), HasSubstr("which this machine has"));
  options.foreign_target = true;
  device = TransferPtr(mlxn::metal::create_device(options, &error));
  ASSERT_TRUE(device);
  queue = TransferPtr(device->newCommandQueue());
  EXPECT_THAT(finish(queue->commandBuffer()), "");  // nothing to run
  auto* commands = queue->commandBuffer();
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(buffer(4).get(), NS::Range(0, 4), 1);
  blit->endEncoding();
  EXPECT_THAT(finish(commands), HasSubstr("cpu_target 'x86-64-v9'"));
}

// Every level computes the same.
TEST_F(TargetTest, LowerLevelsRun) {
  for (const char* level : {"x86-64", "x86-64-v2"}) {
    ScopedSetting target(Setting::kCpuTarget, level);
    make_own_device({});
    auto state = pipeline(
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "kernel void k(device const half4* in [[buffer(0)]], device float* out [[buffer(1)]],\n"
        "              uint i [[thread_position_in_grid]]) {\n"
        "  const half4 x = in[i];\n"
        "  const float sum = dot(float4(x), float4(1, 2, 3, 4));\n"
        "  out[i] = simd_sum(fma(sum, 2.0f, float(popcount(i)))) + float(half(sum) + x.w);\n"
        "}",
        "k");
    ASSERT_TRUE(state) << level;
    auto in = buffer(64 * 8), out = buffer(64 * 4);
    for (int i = 0; i < 256; ++i) static_cast<_Float16*>(in->contents())[i] = _Float16(i % 7);
    auto* commands = queue->commandBuffer();
    auto* encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 0, 1);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(64, 1, 1));
    encoder->endEncoding();
    ASSERT_EQ(finish(commands), "") << level;
    for (int group = 0; group < 2; ++group) {
      float sums[32], total = 0;
      for (int lane = 0; lane < 32; ++lane) {
        const int i = group * 32 + lane;
        sums[lane] = 0;
        for (int k = 0; k < 4; ++k) sums[lane] += float((i * 4 + k) % 7 * (k + 1));
        total += 2 * sums[lane] + float(__builtin_popcount(unsigned(i)));
      }
      for (int lane = 0; lane < 32; ++lane) {
        const int i = group * 32 + lane;
        EXPECT_EQ(static_cast<float*>(out->contents())[i],
                  total + sums[lane] + float((i * 4 + 3) % 7))
            << level << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace mlxn_test
