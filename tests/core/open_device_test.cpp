// Choices that hold for one device alone.
#include "mlxn/core/device/open_device.h"

#include <mlxn/metal_extensions.hpp>

#include "tests/core/core_test.h"

namespace mlxn {
namespace {

using ::testing::HasSubstr;

metal::DeviceDescription describe(const OpenDeviceOptions& options) {
  const Result<Device> device = open_device(options);
  EXPECT_TRUE(device) << device.error().to_string();
  return device ? metal::describe_device(device->metal_device()) : metal::DeviceDescription();
}

TEST(OpenDevice, ThreadsBelongToOneDevice) {
  const uint32_t usual = describe({}).worker_count;
  EXPECT_EQ(describe({.threads = usual + 1}).worker_count, usual + 1);
  EXPECT_EQ(describe({.threads = usual + 2}).worker_count, usual + 2);
  EXPECT_EQ(describe({}).worker_count, usual);
}

TEST(OpenDevice, TargetAndExecutorBelongToOneDevice) {
  const std::string usual = describe({}).target_cpu;
  EXPECT_EQ(describe({.target = "x86-64"}).target_cpu, "x86-64");
  EXPECT_EQ(describe({}).target_cpu, usual);
  EXPECT_EQ(describe({.executor = "null"}).executor, "null");
}

TEST(OpenDevice, WrongChoicesAreNamed) {
  const Result<Device> target = open_device({.target = "x86-64-v9"});
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), ErrorCode::kDeviceNotFound);
  EXPECT_THAT(target.error().message(), HasSubstr("cpu_target 'x86-64-v9', expected a level"));
  const Result<Device> executor = open_device({.executor = "warp"});
  ASSERT_FALSE(executor);
  EXPECT_THAT(executor.error().message(), HasSubstr("executor 'warp', expected one of: cpu"));
}

TEST(OpenDevice, BarriersAreDerivedUnlessPassesAreSerial) {
  EXPECT_TRUE(open_device()->options().auto_barrier);
  RuntimeOptions serial;
  serial.serial_dispatch = true;
  const Result<Device> device = open_device({.threads = 1, .runtime = serial});
  ASSERT_TRUE(device);
  EXPECT_TRUE(device->options().serial_dispatch);
  EXPECT_FALSE(device->options().auto_barrier);
}

}  // namespace
}  // namespace mlxn
