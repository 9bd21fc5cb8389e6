#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class DeviceTest : public ApiTest {};

TEST_F(DeviceTest, DefaultDeviceIsShared) {
  auto first = TransferPtr(MTL::CreateSystemDefaultDevice());
  auto second = TransferPtr(MTL::CreateSystemDefaultDevice());
  ASSERT_TRUE(first);
  EXPECT_EQ(first.get(), second.get());
  auto all = TransferPtr(MTL::CopyAllDevices());
  ASSERT_EQ(all->count(), 1u);
  // Others than the CPU are the default only when asked for.
  EXPECT_EQ(all->object<MTL::Device>(0) == first.get(), executor_or("cpu") == "cpu");
}

TEST_F(DeviceTest, UnknownExecutorIsAnError) {
  mlxn::metal::DeviceOptions options;
  options.executor = "abacus";
  NS::Error* error = nullptr;
  EXPECT_EQ(mlxn::metal::create_device(options, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("executor 'abacus', expected one of: cpu, null"));
}

TEST_F(DeviceTest, PropertiesAndLimits) {
  auto cpu = make_device("cpu");
  for (MTL::Device* one : {device.get(), cpu.get()}) {
    EXPECT_NE(text(one->name()), "");
    EXPECT_TRUE(one->isHeadless());
    EXPECT_EQ(one->maxThreadgroupMemoryLength(), 32768u);
    EXPECT_EQ(one->maxThreadsPerThreadgroup().width, 1024u);
    EXPECT_GT(one->recommendedMaxWorkingSetSize(), 1u << 20);
    EXPECT_GT(one->maxBufferLength(), 1u << 20);
    EXPECT_TRUE(one->supportsFamily(MTL::GPUFamilyApple7));
    EXPECT_TRUE(one->supportsFamily(MTL::GPUFamilyMetal3));
    EXPECT_FALSE(one->supportsFamily(MTL::GPUFamilyMetal4));
    EXPECT_FALSE(one->supportsRaytracing());
    EXPECT_EQ(one->argumentBuffersSupport(), MTL::ArgumentBuffersTier2);
  }
  EXPECT_TRUE(cpu->hasUnifiedMemory());
  EXPECT_NE(device->registryID(), cpu->registryID());
}

TEST_F(DeviceTest, AllocatedSizeFollowsBuffers) {
  const auto before = device->currentAllocatedSize();
  auto one = buffer(1 << 20);
  EXPECT_GE(device->currentAllocatedSize(), before + (1 << 20));
  one.reset();
  EXPECT_EQ(device->currentAllocatedSize(), before);
}

TEST_F(DeviceTest, TimestampsGrow) {
  MTL::Timestamp cpu = 0, gpu = 0, later = 0;
  device->sampleTimestamps(&cpu, &gpu);
  device->sampleTimestamps(&later, nullptr);
  EXPECT_GT(cpu, 0u);
  EXPECT_GE(later, cpu);
  EXPECT_EQ(device->queryTimestampFrequency(), 1'000'000'000u);
}

TEST_F(DeviceTest, ObjectsKeepTheirDeviceAlive) {
  auto one = make_device("null");
  auto data = TransferPtr(one->newBuffer(16, MTL::ResourceStorageModeShared));
  auto work = TransferPtr(one->newCommandQueue());
  one.reset();
  EXPECT_NE(data->device(), nullptr);
  EXPECT_EQ(finish(work->commandBuffer()), "");
}

// As a message to nil; not under UndefinedBehaviorSanitizer, which objects in the caller.
__attribute__((no_sanitize("undefined"))) void call_null(MTL::Buffer* nothing) {
  EXPECT_EQ(nothing->length(), 0u);
  EXPECT_EQ(nothing->contents(), nullptr);
  EXPECT_EQ(nothing->label(), nullptr);
}
TEST_F(DeviceTest, CallsOnNullReturnZero) {
  call_null(nullptr);
}

TEST_F(DeviceTest, ResidencySetsCountFromCommit) {
  auto descriptor = TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  descriptor->setLabel(string("weights"));
  NS::Error* error = nullptr;
  auto set = TransferPtr(device->newResidencySet(descriptor.get(), &error));
  ASSERT_TRUE(set) << text(error);
  EXPECT_EQ(text(set->label()), "weights");
  auto one = buffer(100), two = buffer(28);
  const MTL::Allocation* list[] = {one.get(), two.get()};
  set->addAllocations(list, 2);
  set->addAllocation(one.get());
  EXPECT_EQ(set->allocationCount(), 0u);
  EXPECT_TRUE(set->containsAllocation(one.get()));
  set->commit();
  EXPECT_EQ(set->allocationCount(), 2u);
  EXPECT_EQ(set->allocatedSize(), 128u);
  EXPECT_EQ(set->allAllocations()->count(), 2u);
  set->removeAllocation(one.get());
  EXPECT_EQ(set->allocationCount(), 2u);
  set->commit();
  EXPECT_EQ(set->allocationCount(), 1u);
  set->requestResidency();
  queue->addResidencySet(set.get());
  auto* commands = queue->commandBuffer();
  commands->useResidencySet(set.get());
  EXPECT_EQ(finish(commands), "");
  queue->removeResidencySet(set.get());
  EXPECT_EQ(device->newResidencySet(nullptr, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("null descriptor"));
}

}  // namespace
}  // namespace mlxn_test
