#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "api_test.h"

namespace mlxn_test {
namespace {

using ::testing::HasSubstr;

class BufferTest : public ApiTest {};

TEST_F(BufferTest, SharedBuffersAreZeroedAndVisible) {
  auto data = buffer(64);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->length(), 64u);
  EXPECT_EQ(data->storageMode(), MTL::StorageModeShared);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(static_cast<char*>(data->contents())[i], 0);
  EXPECT_NE(data->gpuAddress(), 0u);
  EXPECT_EQ(data->device(), device.get());
  EXPECT_EQ(data->label(), nullptr);
  data->setLabel(string("weights"));
  EXPECT_EQ(text(data->label()), "weights");
  data->didModifyRange(NS::Range(0, 64));
  EXPECT_TRUE(messages().empty());
  data->didModifyRange(NS::Range(1, 64));
  EXPECT_THAT(messages().at(0), HasSubstr("range 1 + 64, expected to end within the length 64"));
}

TEST_F(BufferTest, BytesAreCopied) {
  int values[] = {1, 2, 3};
  auto data = TransferPtr(device->newBuffer(values, sizeof values, MTL::ResourceStorageModeShared));
  values[0] = 9;
  EXPECT_EQ(static_cast<int*>(data->contents())[0], 1);
  EXPECT_EQ(static_cast<int*>(data->contents())[2], 3);
}

TEST_F(BufferTest, PrivateBuffersHaveNoContents) {
  auto data =
      buffer(64, MTL::ResourceStorageModePrivate | MTL::ResourceHazardTrackingModeUntracked);
  EXPECT_EQ(data->contents(), nullptr);
  EXPECT_EQ(data->storageMode(), MTL::StorageModePrivate);
  EXPECT_EQ(data->hazardTrackingMode(), MTL::HazardTrackingModeUntracked);
  EXPECT_EQ(data->cpuCacheMode(), MTL::CPUCacheModeDefaultCache);
}

TEST_F(BufferTest, WrongLengthsAndOptionsGiveNull) {
  EXPECT_EQ(device->newBuffer(0, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("length 0, expected 1 to"));
  EXPECT_EQ(device->newBuffer(~NS::UInteger(0), MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("length 18446744073709551615"));
  EXPECT_EQ(device->newBuffer(16, 3u << 4), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("resource options 0x30"));
  EXPECT_EQ(device->newBuffer(nullptr, 16, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("null pointer"));
  int value = 0;
  EXPECT_EQ(device->newBuffer(&value, 4, MTL::ResourceStorageModePrivate), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("storage mode Private"));
}

TEST_F(BufferTest, PurgeableStateIsRemembered) {
  auto data = buffer(16);
  EXPECT_EQ(data->setPurgeableState(MTL::PurgeableStateVolatile), MTL::PurgeableStateNonVolatile);
  EXPECT_EQ(data->setPurgeableState(MTL::PurgeableStateKeepCurrent), MTL::PurgeableStateVolatile);
}

struct Pages {
  Pages() : size(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory = std::aligned_alloc(size, size);
  }
  ~Pages() { std::free(memory); }
  size_t size;
  void* memory;
};

TEST_F(BufferTest, NoCopyUsesTheCallersMemory) {
  if (!wraps_host_memory()) GTEST_SKIP() << "buffers without a copy need unified memory";
  Pages pages;
  auto data = TransferPtr(
      device->newBuffer(pages.memory, pages.size, MTL::ResourceStorageModeShared, nullptr));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->contents(), pages.memory);
  auto* commands = queue->commandBuffer();
  auto* blit = commands->blitCommandEncoder();
  blit->fillBuffer(data.get(), NS::Range(0, 16), 7);
  blit->endEncoding();
  EXPECT_EQ(finish(commands), "");
  EXPECT_EQ(static_cast<uint8_t*>(pages.memory)[15], 7);
}

TEST_F(BufferTest, NoCopyNeedsWholePages) {
  validate();
  Pages pages;
  EXPECT_EQ(device->newBuffer(static_cast<char*>(pages.memory) + 16, pages.size,
                              MTL::ResourceStorageModeShared, nullptr),
            nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("expected a page-aligned address and length"));
  EXPECT_EQ(device->newBuffer(pages.memory, 100, MTL::ResourceStorageModeShared, nullptr), nullptr);
}

class HeapTest : public ApiTest {
 protected:
  Ptr<MTL::Heap> heap(NS::UInteger size, MTL::HeapType type = MTL::HeapTypeAutomatic) {
    auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
    descriptor->setSize(size);
    descriptor->setType(type);
    descriptor->setResourceOptions(MTL::ResourceStorageModeShared);
    return TransferPtr(device->newHeap(descriptor.get()));
  }
};

TEST_F(HeapTest, SubAllocatesAndReuses) {
  auto space = heap(1024);
  ASSERT_TRUE(space);
  EXPECT_EQ(space->size(), 1024u);
  EXPECT_EQ(space->maxAvailableSize(256), 1024u);
  auto a = TransferPtr(space->newBuffer(300, MTL::ResourceStorageModeShared));
  auto b = TransferPtr(space->newBuffer(256, MTL::ResourceStorageModeShared));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->heap(), space.get());
  EXPECT_EQ(a->heapOffset(), 0u);
  EXPECT_EQ(b->heapOffset(), 512u);
  EXPECT_EQ(b->gpuAddress(), a->gpuAddress() + 512);
  EXPECT_EQ(static_cast<char*>(b->contents()), static_cast<char*>(a->contents()) + 512);
  EXPECT_EQ(space->usedSize(), 768u);
  EXPECT_EQ(space->maxAvailableSize(256), 256u);
  EXPECT_EQ(space->newBuffer(512, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("length 512 does not fit"));
  a.reset();
  EXPECT_EQ(space->usedSize(), 256u);
  auto c = TransferPtr(space->newBuffer(512, MTL::ResourceStorageModeShared));
  ASSERT_TRUE(c);
  EXPECT_EQ(c->heapOffset(), 0u);
}

TEST_F(HeapTest, AliasableBuffersGiveTheirRangeBack) {
  auto space = heap(512);
  auto a = TransferPtr(space->newBuffer(512, MTL::ResourceStorageModeShared));
  EXPECT_EQ(space->maxAvailableSize(256), 0u);
  EXPECT_FALSE(a->isAliasable());
  a->makeAliasable();
  EXPECT_TRUE(a->isAliasable());
  auto b = TransferPtr(space->newBuffer(512, MTL::ResourceStorageModeShared));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->contents(), a->contents());
  a.reset();
  EXPECT_EQ(space->usedSize(), 512u);
  buffer(16)->makeAliasable();
  EXPECT_THAT(messages().back(), HasSubstr("not made from a heap"));
}

TEST_F(HeapTest, PlacementTakesOffsets) {
  auto space = heap(1024, MTL::HeapTypePlacement);
  auto a = TransferPtr(space->newBuffer(256, MTL::ResourceStorageModeShared, 512));
  auto overlapping = TransferPtr(space->newBuffer(512, MTL::ResourceStorageModeShared, 256));
  ASSERT_TRUE(a && overlapping);
  EXPECT_EQ(a->heapOffset(), 512u);
  EXPECT_EQ(space->newBuffer(256, MTL::ResourceStorageModeShared, 1024), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("offset 1024 with length 256"));
  EXPECT_EQ(space->newBuffer(16, MTL::ResourceStorageModeShared, 8), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("multiple of 256"));
  EXPECT_EQ(space->newBuffer(16, MTL::ResourceStorageModeShared), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("needs an offset"));
  EXPECT_EQ(heap(512)->newBuffer(16, MTL::ResourceStorageModeShared, 0), nullptr);
  EXPECT_EQ(space->newBuffer(16, MTL::ResourceStorageModePrivate, 0), nullptr);
  EXPECT_THAT(messages().back(), HasSubstr("storage mode 2, expected 0"));
}

TEST_F(HeapTest, BuffersKeepTheirHeapAlive) {
  auto space = heap(256);
  auto data = TransferPtr(space->newBuffer(16, MTL::ResourceStorageModeShared));
  space.reset();
  std::memset(data->contents(), 1, 16);
  EXPECT_EQ(data->heap()->size(), 256u);
}

TEST_F(HeapTest, WrongDescriptorsGiveNull) {
  EXPECT_FALSE(heap(0));
  EXPECT_THAT(messages().back(), HasSubstr("size 0, expected 1 to"));
  EXPECT_FALSE(heap(256, MTL::HeapTypeSparse));
  EXPECT_THAT(messages().back(), HasSubstr("heap type 2"));
  EXPECT_EQ(device->newHeap(nullptr), nullptr);
  const auto need = device->heapBufferSizeAndAlign(257, MTL::ResourceStorageModeShared);
  EXPECT_EQ(need.size, 512u);
  EXPECT_EQ(need.align, 256u);
}

TEST_F(HeapTest, ThreadsShareAHeap) {
  auto space = heap(256 * 1000);
  auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      auto data = TransferPtr(space->newBuffer(100, MTL::ResourceStorageModeShared));
      ASSERT_TRUE(data);
      std::memset(data->contents(), i, 100);
    }
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  EXPECT_EQ(space->usedSize(), 0u);
}

// The address a buffer names is the memory that kernels and its other faces see, for every way to
// make one, and no two buffers overlap.
class AddressTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    pages_ = std::aligned_alloc(page, 2 * page);
    auto heap = [&](MTL::HeapType type) {
      auto descriptor = TransferPtr(MTL::HeapDescriptor::alloc()->init());
      descriptor->setSize(4096);
      descriptor->setType(type);
      descriptor->setResourceOptions(MTL::ResourceStorageModeShared);
      return TransferPtr(device->newHeap(descriptor.get()));
    };
    constexpr auto kShared = MTL::ResourceStorageModeShared;
    auto automatic = heap(MTL::HeapTypeAutomatic), placed = heap(MTL::HeapTypePlacement);
    buffers = {
        buffer(64),
        buffer(1 << 20),
        TransferPtr(automatic->newBuffer(300, kShared)),
        TransferPtr(automatic->newBuffer(300, kShared)),
        TransferPtr(placed->newBuffer(256, kShared, 0)),
        TransferPtr(placed->newBuffer(64, kShared, 1024)),
    };
    if (wraps_host_memory()) {
      auto* second = static_cast<char*>(pages_) + page;
      buffers.push_back(TransferPtr(device->newBuffer(pages_, page, kShared, nullptr)));
      buffers.push_back(TransferPtr(device->newBuffer(second, page, kShared, nullptr)));
    }
    for (auto& one : buffers) ASSERT_TRUE(one);
  }
  void TearDown() override {
    buffers.clear();
    KernelTest::TearDown();
    std::free(pages_);
  }

  std::vector<Ptr<MTL::Buffer>> buffers;

 private:
  void* pages_ = nullptr;
};

TEST_F(AddressTest, BuffersDoNotOverlap) {
  for (auto& a : buffers) {
    EXPECT_EQ(a->gpuAddress() % 256, 0u);
    for (auto& b : buffers) {
      if (a == b) continue;
      EXPECT_TRUE(a->gpuAddress() + a->length() <= b->gpuAddress() ||
                  b->gpuAddress() + b->length() <= a->gpuAddress());
    }
  }
}

TEST_F(AddressTest, KernelsReachTheBufferThroughItsAddress) {
  auto state = pipeline(
      "struct Target { device uint* at; };\n"
      "kernel void mark(device const Target* targets [[buffer(0)]],\n"
      "                 uint i [[thread_position_in_grid]]) {\n"
      "  targets[i].at[15] = 100 + i;\n"
      "}\n",
      "mark");
  auto table = buffer(buffers.size() * sizeof(uint64_t));
  auto* commands = queue->commandBuffer();
  auto* encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(table.get(), 0, 0);
  for (size_t i = 0; i < buffers.size(); ++i) {
    static_cast<uint64_t*>(table->contents())[i] = buffers[i]->gpuAddress();
    encoder->useResource(buffers[i].get(), MTL::ResourceUsageWrite);
  }
  encoder->dispatchThreads(MTL::Size(buffers.size(), 1, 1), MTL::Size(1, 1, 1));
  encoder->endEncoding();
  EXPECT_EQ(finish(commands), "");
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(static_cast<uint32_t*>(buffers[i]->contents())[15], 100 + i) << i;
  }
}

}  // namespace
}  // namespace mlxn_test
