// Blocks as handlers and deallocators, as Apple's headers take them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <Metal/Metal.hpp>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mlxn/metal_extensions.hpp>

// As much of the blocks runtime as blocks need that capture plain values; programs link a whole
// one.
namespace {

struct BlockDescriptor {
  unsigned long reserved, size;
};
struct BlockLayout {
  void* isa;
  int flags;
  int references;
  void (*invoke)();
  BlockDescriptor* descriptor;
};
constexpr int kGlobal = 1 << 28, kOnHeap = 1 << 24;
std::atomic<int> live_blocks = 0;

}  // namespace

extern "C" {
void* _NSConcreteStackBlock[32];
void* _NSConcreteGlobalBlock[32];

void* _Block_copy(const void* block) {
  auto* source = static_cast<BlockLayout*>(const_cast<void*>(block));
  if (source->flags & kGlobal) return source;
  if (source->flags & kOnHeap) {
    ++source->references;
    return source;
  }
  auto* copy = static_cast<BlockLayout*>(std::malloc(source->descriptor->size));
  std::memcpy(static_cast<void*>(copy), source, source->descriptor->size);
  copy->flags |= kOnHeap;
  copy->references = 1;
  ++live_blocks;
  return copy;
}

void _Block_release(const void* block) {
  auto* target = static_cast<BlockLayout*>(const_cast<void*>(block));
  if (!(target->flags & kOnHeap) || --target->references > 0) return;
  std::free(target);
  --live_blocks;
}
}

namespace {

class BlocksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    pool = NS::AutoreleasePool::alloc()->init();
    mlxn::metal::DeviceOptions options;
    options.executor = "null";
    device = NS::TransferPtr(mlxn::metal::create_device(options, nullptr));
    queue = NS::TransferPtr(device->newCommandQueue());
  }
  void TearDown() override {
    queue.reset();
    device.reset();
    pool->release();
    EXPECT_EQ(live_blocks, 0);  // every copied block was released
  }
  NS::AutoreleasePool* pool;
  NS::SharedPtr<MTL::Device> device;
  NS::SharedPtr<MTL::CommandQueue> queue;
};

TEST_F(BlocksTest, CommandBufferHandlers) {
  std::atomic<int> calls = 0, *count = &calls;
  auto* commands = queue->commandBuffer();
  commands->addScheduledHandler(^(MTL::CommandBuffer*) {
    *count += 1;
  });
  commands->addCompletedHandler(^(MTL::CommandBuffer* one) {
    if (one->status() == MTL::CommandBufferStatusCompleted) *count += 10;
  });
  commands->commit();
  commands->waitUntilCompleted();
  EXPECT_EQ(calls, 11);
}

TEST_F(BlocksTest, Deallocator) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = std::aligned_alloc(page, page);
  std::atomic<NS::UInteger> freed = 0, *size = &freed;
  auto buffer = NS::TransferPtr(device->newBuffer(memory, page, MTL::ResourceStorageModeShared,
                                                  ^(void* bytes, NS::UInteger length) {
                                                    std::free(bytes);
                                                    *size = length;
                                                  }));
  ASSERT_TRUE(buffer);
  EXPECT_EQ(freed, 0u);
  buffer.reset();
  EXPECT_EQ(freed, page);
}

TEST_F(BlocksTest, CompilationAndNotification) {
  auto event = NS::TransferPtr(device->newSharedEvent());
  std::promise<uint64_t> notified, *notify = &notified;
  event->notifyListener(MTL::SharedEventListener::sharedListener(), 1,
                        ^(MTL::SharedEvent*, uint64_t value) {
                          notify->set_value(value);
                        });
  event->setSignaledValue(1);
  EXPECT_EQ(notified.get_future().get(), 1u);

  std::promise<NS::SharedPtr<MTL::Library>> made, *library = &made;
  device->newLibrary(MTLSTR("kernel void k() {}"), nullptr, ^(MTL::Library* one, NS::Error*) {
    library->set_value(NS::RetainPtr(one));
  });
  auto lib = made.get_future().get();
  ASSERT_TRUE(lib);
  auto function = NS::TransferPtr(lib->newFunction(MTLSTR("k")));
  std::promise<bool> built, *build = &built;
  device->newComputePipelineState(function.get(), ^(MTL::ComputePipelineState* one, NS::Error*) {
    build->set_value(one != nullptr);
  });
  EXPECT_TRUE(built.get_future().get());
  while (live_blocks != 0) usleep(100);  // the workers let go of the blocks after the calls
}

}  // namespace
