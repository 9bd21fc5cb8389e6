#include "mlxn/core/memory/buffer.h"

#include <cstdlib>
#include <cstring>
#include <thread>

#include "mlxn/core/device/internal/context.h"
#include "mlxn/core/encode/session.h"
#include "mlxn/core/memory/internal/storage.h"
#include "mlxn/core/memory/pool.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Buffers : public testing::Test {
 protected:
  Device device = make_null_device();
};

TEST_F(Buffers, TheDeviceHasANameAndLimits) {
  EXPECT_FALSE(device.name().empty());
  EXPECT_EQ(device.to_string(), "Device(" + device.name() + ")");
  EXPECT_GT(device.limits().max_buffer_length, 0u);
  EXPECT_GT(device.limits().max_threads_per_threadgroup, 0u);
  EXPECT_TRUE(device.metal_device());
  EXPECT_TRUE(device.metal_queue());
  const Device other = *device.with_new_queue();
  EXPECT_EQ(other.id(), device.id());
  EXPECT_NE(other.metal_queue(), device.metal_queue());
  EXPECT_ERROR(kDeviceNotFound, Device::wrap(nullptr));
}

TEST_F(Buffers, AllocationKeepsItsMetadata) {
  const Buffer buffer = *device.alloc(Dtype::kF32, {2, 3, 4});
  EXPECT_EQ(buffer.byte_len(), 96u);
  EXPECT_EQ(buffer.allocation_length(), 96u) << "exact, never rounded";
  EXPECT_EQ(buffer.element_count(), 24u);
  EXPECT_EQ(buffer.dtype(), Dtype::kF32);
  EXPECT_EQ(buffer.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(buffer.byte_offset(), 0u);
  EXPECT_EQ(buffer.storage_mode(), StorageMode::kShared);
  EXPECT_EQ(device.alloc(Dtype::kF32, {})->element_count(), 1u) << "no dimension: one element";
}

TEST_F(Buffers, ReadAndWrite) {
  Buffer buffer = *device.alloc(Dtype::kF32, {64});
  auto view = *buffer.as_mut_slice<float>();
  for (size_t i = 0; i < 64; ++i) view[i] = static_cast<float>(i) * 1.5f;
  const auto back = *buffer.as_slice<float>();
  ASSERT_EQ(back.size(), 64u);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(back[i], static_cast<float>(i) * 1.5f);
}

TEST_F(Buffers, NewMemoryIsZero) {
  for (int round = 0; round < 4; ++round) {
    Buffer buffer = *device.alloc(Dtype::kU8, {10000});
    for (const std::byte b : *buffer.as_slice<std::byte>()) ASSERT_EQ(b, std::byte{0});
    std::memset(buffer.contents(), 0xff, 10000);  // what the system may hand out next
  }
}

TEST_F(Buffers, ZeroLengthIsRefused) {
  auto buffer = device.alloc_buffer(0, Dtype::kF32, {1});
  EXPECT_ERROR(kInvalidArgument, buffer);
  EXPECT_THAT(buffer.error().message(), testing::HasSubstr("0 bytes, expected at least 1"));
  EXPECT_ERROR(kInvalidArgument, device.alloc(Dtype::kF32, {4, 0}));
}

// Edge 8.
TEST_F(Buffers, LengthMustBeWhatTypeAndShapeNeed) {
  EXPECT_OK(device.alloc_buffer(96, Dtype::kF32, {2, 3, 4}));
  auto wrong = device.alloc_buffer(95, Dtype::kF32, {2, 3, 4});
  EXPECT_ERROR(kInvalidArgument, wrong);
  EXPECT_THAT(wrong.error().message(),
              testing::AllOf(testing::HasSubstr("95 bytes"), testing::HasSubstr("expected 96")));
  EXPECT_ERROR(kOutOfRange, device.alloc(Dtype::kF32, {UINT64_MAX, 8}));
  EXPECT_ERROR(kOutOfMemory, device.alloc(Dtype::kU8, {uint64_t{1} << 60}));
  EXPECT_ERROR(kInvalidArgument, device.alloc(Dtype::kF32, {1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

// Edge 12: at every allocation point.
TEST_F(Buffers, FailedAllocationsAreReported) {
  LogLines quiet;
  const auto fail_next = [&] {
    metal::inject_fault(device.metal_device(), metal::Fault::kAllocation);
  };
  fail_next();
  auto shared = device.alloc(Dtype::kF32, {256});
  EXPECT_ERROR(kOutOfMemory, shared);
  EXPECT_THAT(shared.error().message(), testing::HasSubstr("1024 bytes"));
  fail_next();
  EXPECT_ERROR(kOutOfMemory, device.alloc(Dtype::kF32, {256}, StorageMode::kPrivate));
  fail_next();
  EXPECT_ERROR(kOutOfMemory, device.alloc_uninit(Dtype::kF32, {256}));
  void* memory = std::aligned_alloc(4096, 4096);
  fail_next();
  EXPECT_ERROR(kOutOfMemory, device.wrap_host_memory(memory, 4096, Dtype::kU8, {4096}));
  std::free(memory);
  const Buffer hidden = *device.alloc(Dtype::kU8, {64}, StorageMode::kPrivate);
  std::vector<std::byte> bytes(64);
  fail_next();
  EXPECT_ERROR(kOutOfMemory, device.upload(bytes, hidden));
  fail_next();
  EXPECT_ERROR(kOutOfMemory, device.download(hidden, bytes));
  EXPECT_EQ(device.counters().residency_allocations, 1u) << "failures leave nothing behind";
}

TEST_F(Buffers, Text) {
  const std::string text = device.alloc(Dtype::kF16, {4, 8})->to_string();
  EXPECT_EQ(text, "Buffer(f16, [4, 8], 64 bytes)");
}

TEST_F(Buffers, DtypeSizesAndNames) {
  const std::vector<std::tuple<Dtype, std::string, uint64_t>> table = {
      {Dtype::kF32, "f32", 4}, {Dtype::kF16, "f16", 2}, {Dtype::kBf16, "bf16", 2},
      {Dtype::kU8, "u8", 1},   {Dtype::kU16, "u16", 2}, {Dtype::kU32, "u32", 4},
      {Dtype::kI32, "i32", 4}};
  for (const auto& [dtype, name, bytes] : table) {
    EXPECT_EQ(*size_bytes(dtype, 1), bytes) << name;
    EXPECT_EQ(to_string(dtype), name);
  }
}

TEST_F(Buffers, ErrorsSayWhatHappened) {
  KernelRegistry registry;
  auto missing = registry.get_pipeline("nonexistent_kernel", make_device());
  EXPECT_ERROR(kFunctionNotFound, missing);
  EXPECT_THAT(missing.error().to_string(), testing::HasSubstr("nonexistent_kernel"));
  auto no_device = Device::wrap(nullptr);
  EXPECT_THAT(no_device.error().to_string(), testing::HasSubstr("Metal GPU device"));
  registry.register_source("broken", "kernel void broken() { nonsense; }");
  auto broken = registry.get_pipeline("broken", make_device());
  EXPECT_ERROR(kCompileFailed, broken);
  EXPECT_THAT(broken.error().to_string(),
              testing::AllOf(testing::HasSubstr("broken"), testing::HasSubstr("nonsense")));
}

TEST_F(Buffers, DeviceBufferAndErrorMayBeSharedBetweenThreads) {
  // Copies are cheap handles on shared, immutable or locked state.
  static_assert(std::is_copy_constructible_v<Device> && std::is_copy_constructible_v<Buffer> &&
                std::is_copy_constructible_v<Error>);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 50; ++i) {
        Buffer buffer = *device.alloc(Dtype::kF32, {16});
        const Buffer view = *buffer.slice_view(16, 4);
        EXPECT_EQ(view.storage(), buffer.storage());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(device.counters().residency_allocations, 0u);
}

// Edge 6: in the original all of these see the parent from byte 0.
TEST_F(Buffers, AViewIsExactlyItsBytes) {
  Buffer parent = floats(device, {0, 1, 2, 3, 4, 5, 6, 7});
  Buffer view = *parent.slice_view(8, 3);
  EXPECT_EQ(view.byte_len(), 12u);
  EXPECT_EQ(view.allocation_length(), 32u);
  EXPECT_EQ(view.byte_offset(), 8u);
  EXPECT_EQ(view.contents(), parent.contents() + 8);
  EXPECT_EQ(read(view), (std::vector<float>{2, 3, 4}));
  (*view.as_mut_slice<float>())[0] = 20;
  EXPECT_EQ(read(parent)[2], 20);
}

// Edge 7: the original ends the process, can overflow, counts from the allocation and ignores
// alignment.
TEST_F(Buffers, SlicesAreCheckedAndCountFromTheirParent) {
  const Buffer parent = floats(device, {0, 1, 2, 3, 4, 5, 6, 7});
  const Buffer view = *parent.slice_view(8, 6), inner = *view.slice_view(4, 2);
  EXPECT_EQ(inner.byte_offset(), 12u);
  EXPECT_EQ(read(inner), (std::vector<float>{3, 4}));
  EXPECT_OK(parent.slice_view(28, 1));
  auto past = parent.slice_view(28, 2);
  EXPECT_ERROR(kOutOfRange, past);
  EXPECT_THAT(past.error().message(),
              testing::AllOf(testing::HasSubstr("8 bytes"), testing::HasSubstr("within 32")));
  EXPECT_ERROR(kOutOfRange, view.slice_view(20, 2)) << "within the view, not the allocation";
  EXPECT_ERROR(kOutOfRange, parent.slice_view(UINT64_MAX - 3, 1));
  EXPECT_ERROR(kOutOfRange, parent.slice_view(0, UINT64_MAX / 2));
  EXPECT_ERROR(kOutOfRange, parent.slice_view(2, 1));
  EXPECT_ERROR(kOutOfRange, parent.slice_view(0, 0));
  EXPECT_ERROR(kInvalidArgument, Buffer().slice_view(0, 1));
}

TEST_F(Buffers, ReshapeKeepsTheElements) {
  const Buffer buffer = floats(device, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(buffer.reshape({2, 3})->shape(), (Shape{2, 3}));
  EXPECT_EQ(buffer.reshape({2, 3})->storage(), buffer.storage());
  EXPECT_ERROR(kShapeMismatch, buffer.reshape({2, 4}));
}

TEST_F(Buffers, TypedViewsAreChecked) {
  Buffer half = *device.alloc(Dtype::kF16, {3});
  EXPECT_OK(half.as_slice<uint16_t>());
  auto wrong = half.as_slice<float>();
  EXPECT_ERROR(kDtypeMismatch, wrong);
  EXPECT_THAT(wrong.error().message(), testing::HasSubstr("4 bytes, expected 2"));
  EXPECT_EQ(half.as_slice<std::byte>()->size(), 6u) << "bytes always fit";
  Buffer packed = *device.alloc(Dtype::kU8, {10});
  EXPECT_ERROR(kInvalidArgument, packed.as_slice<uint32_t>()) << "10 is no multiple of 4";
  EXPECT_OK(packed.as_slice<uint16_t>());
  EXPECT_ERROR(kInvalidArgument, packed.slice_view(1, 8)->as_slice<uint32_t>()) << "misaligned";
  EXPECT_ERROR(kInvalidArgument, Buffer().as_slice<float>());
}

TEST_F(Buffers, PrivateMemoryGoesThroughTransfers) {
  const Device cpu = make_device();
  Buffer hidden = *cpu.alloc(Dtype::kF32, {8}, StorageMode::kPrivate);
  EXPECT_EQ(hidden.storage_mode(), StorageMode::kPrivate);
  EXPECT_EQ(hidden.contents(), nullptr);
  EXPECT_ERROR(kInvalidState, hidden.as_slice<float>());
  std::vector<float> back(8, -1.0f);
  EXPECT_OK(cpu.download(hidden, std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(back, std::vector<float>(8, 0.0f)) << "zero-filled as well";
  const std::vector<float> values = {1, 2, 3, 4};
  EXPECT_OK(cpu.upload(std::as_bytes(std::span(values)), *hidden.slice_view(8, 4)));
  EXPECT_OK(cpu.download(hidden, std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(back, (std::vector<float>{0, 0, 1, 2, 3, 4, 0, 0}));
  auto wrong = cpu.upload(std::as_bytes(std::span(values)), hidden);
  EXPECT_ERROR(kInvalidArgument, wrong);
  EXPECT_THAT(wrong.error().message(), testing::HasSubstr("16 bytes, expected 32"));
  EXPECT_ERROR(kInvalidArgument, device.download(hidden, std::as_writable_bytes(std::span(back))))
      << "another device";
}

// Edge 13.
TEST_F(Buffers, UninitialisedMemoryIsForLoaders) {
  Buffer buffer = *device.alloc_uninit(Dtype::kU8, {257});
  EXPECT_EQ(buffer.byte_len(), 257u);
  EXPECT_EQ(buffer.allocation_length(), 257u);
  EXPECT_EQ(device.counters().residency_allocations, 1u);
}

TEST_F(Buffers, HostMemoryIsWrappedWithoutACopy) {
  const Device cpu = make_device();
  if (!cpu.limits().unified_memory) GTEST_SKIP() << "wrapping host memory needs unified memory";
  auto* memory = static_cast<float*>(std::aligned_alloc(4096, 4096));
  std::fill_n(memory, 1024, 1.0f);
  bool freed = false;
  std::shared_ptr<void> owner(memory, [&](void* bytes) {
    std::free(bytes);
    freed = true;
  });
  const Buffer out = zeros(cpu, 1024);
  {
    const Buffer in = *cpu.wrap_host_memory(memory, 4096, Dtype::kF32, {1024}, std::move(owner));
    EXPECT_EQ(static_cast<void*>(in.contents()), memory);
    memory[5] = 41.0f;
    auto encoder = *cpu.command_encoder();
    EXPECT_OK(inc_one(encoder, in, out));
    EXPECT_OK(encoder.commit_and_wait());
    EXPECT_FALSE(freed);
  }
  EXPECT_TRUE(freed) << "with the last use";
  EXPECT_EQ(read(out)[5], 42.0f);
  alignas(4096) static std::byte page[8192];
  EXPECT_ERROR(kInvalidArgument, cpu.wrap_host_memory(page + 16, 4096, Dtype::kU8, {4096}));
  EXPECT_ERROR(kInvalidArgument, cpu.wrap_host_memory(nullptr, 4096, Dtype::kU8, {4096}));
  EXPECT_ERROR(kInvalidArgument, cpu.wrap_host_memory(page, 4096, Dtype::kU8, {4097}));
}

TEST_F(Buffers, MetalBuffersAreWrapped) {
  auto metal =
      NS::TransferPtr(device.metal_device()->newBuffer(64, MTL::ResourceStorageModeShared));
  const Buffer buffer = *device.wrap_metal_buffer(metal.get(), Dtype::kF32, {8});
  EXPECT_EQ(buffer.metal_buffer(), metal.get());
  EXPECT_EQ(buffer.byte_len(), 32u);
  EXPECT_ERROR(kOutOfRange, device.wrap_metal_buffer(metal.get(), Dtype::kF32, {17}));
  EXPECT_ERROR(kInvalidArgument, device.wrap_metal_buffer(nullptr, Dtype::kF32, {8}));
  EXPECT_ERROR(kInvalidArgument, make_device().wrap_metal_buffer(metal.get(), Dtype::kF32, {8}));
}

// Edge 9.
TEST_F(Buffers, HostAccessWhileTheGpuUsesItIsRefusedWhenChecked) {
  const Device checked = device_with(&RuntimeOptions::check_host_access);
  Buffer in = zeros(checked, 4), out = zeros(checked, 4);
  auto session = *checked.encoder_session();
  StageFence gate = {NS::TransferPtr(checked.metal_device()->newSharedEvent()), 1};
  EXPECT_OK(session.wait_for(gate));
  EXPECT_OK(inc_one(session.encoder(), in, out));
  EXPECT_OK(in.as_slice<float>()) << "not submitted yet";
  EXPECT_OK(session.commit_stage());
  EXPECT_ERROR(kInvalidState, out.as_slice<float>());
  EXPECT_ERROR(kInvalidState, in.as_mut_slice<float>());
  gate.event->setSignaledValue(1);
  EXPECT_OK(session.wait_for_all());
  EXPECT_EQ(read(out), std::vector<float>(4, 1.0f));
}

// Exact size, and data that stays readable, for weights that are loaded once.
TEST_F(Buffers, WeightsKeepTheirExactSizeAndOutliveAPool) {
  Buffer weights = *device.alloc_uninit(Dtype::kF32, {256});
  auto view = *weights.as_mut_slice<float>();
  for (size_t i = 0; i < 256; ++i) view[i] = static_cast<float>(i) * 0.5f;
  {
    BufferPool pool(device);
    EXPECT_OK(pool.register_existing(weights));
    EXPECT_EQ(device.counters().residency_allocations, 1u);
    EXPECT_EQ(pool.stats().in_use_count + pool.stats().free_count, 0u);
  }
  EXPECT_EQ(weights.allocation_length(), 1024u);
  EXPECT_EQ(read(weights)[255], 127.5f);
  EXPECT_EQ(device.alloc(Dtype::kF32, {257})->allocation_length(), 1028u) << "not rounded";
}

// The middle block of three, multiplied by two: a view's offset reaches the kernel.
TEST_F(Buffers, AViewsOffsetReachesTheKernel) {
  const Device cpu = make_device();
  std::vector<float> blocks(3 * 64);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<float>(i / 64 + 1);
  const Buffer all = floats(cpu, blocks), out = zeros(cpu, 64);
  const Buffer middle = *all.slice_view(64 * sizeof(float), 64);
  const float factor = 2;
  auto encoder = *cpu.command_encoder();
  EXPECT_OK(encoder.encode_with_args(
      kernel(cpu, "scale"), {{0, middle}, {1, out}, {2, as_bytes(factor)}}, width(64), width(32)));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(64, 4.0f));
}

}  // namespace
}  // namespace mlxn::test
