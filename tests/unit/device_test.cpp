// What a device makes of its options and settings.
#include "metal/rt/device/device.h"

#include <gmock/gmock.h>

#include "mlxn/base/settings.h"

namespace mlxn::rt {
namespace {

using testing::HasSubstr;

Result<int> tier_of_device(int option) {
  metal::DeviceOptions options;
  options.executor = "cpu";
  options.worker_count = 1;
  options.forced_tier = option;
  MLXN_ASSIGN(auto device, DeviceObject::create(options));
  return device->info().usual_code.forced_tier;
}

TEST(DeviceTier, ComesFromTheOptionElseFromTheSetting) {
  for (int tier = 0; tier <= 3; ++tier) EXPECT_EQ(*tier_of_device(tier), tier);
  ScopedSetting setting(Setting::kCpuTier, "2");
  EXPECT_EQ(*tier_of_device(-1), 2);
  EXPECT_EQ(*tier_of_device(1), 1);
}

TEST(DeviceTier, ValuesThatMeanNothingAreErrors) {
  for (int tier : {-2, 4, 1000}) {
    auto made = tier_of_device(tier);
    ASSERT_FALSE(made) << tier;
    EXPECT_EQ(made.error().message(),
              "option forced_tier is " + std::to_string(tier) + ", expected 0 to 3, or -1");
  }
  ScopedSetting setting(Setting::kCpuTier, "4");
  EXPECT_THAT(tier_of_device(-1).error().message(),
              HasSubstr("setting cpu_tier is 4, expected 0 to 3, or -1"));
  EXPECT_EQ(*tier_of_device(3), 3);
}

}  // namespace
}  // namespace mlxn::rt
