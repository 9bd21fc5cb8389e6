// Each check of a dispatch, at its border.
#include "mlxn/core/profile/profile.h"
#include "tests/core/core_test.h"

namespace mlxn::test {
namespace {

class Checks : public testing::Test {
 protected:
  Status encode(MTL::Size grid, MTL::Size group) {
    return e.encode(inc, {{0, &a}, {1, &out}}, grid, group);
  }
  Status groups(MTL::Size grid, MTL::Size group) {
    return e.encode_threadgroups(inc, {{0, &a}, {1, &out}}, grid, group);
  }
  Status declared(ComputeEncoder::Buffers reads, ComputeEncoder::Buffers writes) {
    return e.dispatch_tracked_threadgroups(inc, {{0, &a}, {1, &out}}, reads, writes, width(1),
                                           width(4));
  }

  Device device = make_device();
  Buffer a = floats(device, {1, 2, 3, 4}), out = zeros(device, 4);
  Pipeline inc = kernel(device, "inc_one");
  CommandEncoder e = *device.command_encoder();
};

TEST_F(Checks, EachDimensionOfTheThreadgroup) {
  for (const MTL::Size group :
       {MTL::Size(4, 0, 1), MTL::Size(4, 1, 0), MTL::Size(1, inc.max_threads() + 1, 1),
        MTL::Size(1, 1, inc.max_threads() + 1)}) {
    EXPECT_ERROR(kInvalidArgument, encode(width(4), group));
  }
  const uint64_t half = uint64_t{1} << 32;
  EXPECT_ERROR(kInvalidArgument, encode(width(4), MTL::Size(half, half, 1)))
      << "the product is 0 in 64 bits";
}

TEST_F(Checks, EachDimensionOfTheGrid) {
  const uint64_t large = uint64_t{1} << 32;
  for (const MTL::Size grid :
       {MTL::Size(4, 0, 1), MTL::Size(4, 1, 0), MTL::Size(4, large, 1), MTL::Size(4, 1, large)}) {
    EXPECT_ERROR(kInvalidArgument, encode(grid, width(4)));
    EXPECT_ERROR(kInvalidArgument, groups(grid, width(4)));
  }
  // Threadgroups count by their threads.
  const uint64_t quarter = uint64_t{1} << 30;
  EXPECT_ERROR(kInvalidArgument, groups(width(quarter), width(4)));
  EXPECT_ERROR(kInvalidArgument, groups(MTL::Size(1, quarter, 1), MTL::Size(1, 4, 1)));
  EXPECT_ERROR(kInvalidArgument, groups(MTL::Size(1, 1, quarter), MTL::Size(1, 1, 4)));
}

TEST_F(Checks, DeclaredBuffers) {
  const Buffer empty;
  EXPECT_ERROR(kInvalidArgument, declared({&empty}, {&out}));
  EXPECT_ERROR(kInvalidArgument, declared({nullptr}, {&out}));
  EXPECT_ERROR(kInvalidArgument, declared({&a}, {&empty}));
  EXPECT_ERROR(kInvalidArgument, declared({&a}, {nullptr}));
  EXPECT_ERROR(kInvalidArgument, e.barrier_between({&empty}, {}));
  EXPECT_ERROR(kInvalidArgument, e.barrier_between({}, {&empty}));
  EXPECT_ERROR(kInvalidArgument, e.add_to_tracker({&empty}, {}));
  EXPECT_ERROR(kInvalidArgument, e.add_to_tracker({}, {&empty}));
  EXPECT_OK(declared({&a}, {&out}));
}

TEST_F(Checks, ThreadgroupMemory) {
  const Pipeline reverse = kernel(device, "reverse");
  const auto with = [&](std::vector<ThreadgroupMemory> memory) {
    return e.encode_threadgroups_with_shared(reverse, {{0, &a}, {1, &out}}, memory, width(1),
                                             width(4));
  };
  const uint64_t most = device.limits().max_threadgroup_memory;
  EXPECT_ERROR(kInvalidArgument, with({{0, 16}, {31, 16}}));
  EXPECT_ERROR(kInvalidArgument, with({{0, 16}, {1, 0}}));
  EXPECT_ERROR(kInvalidArgument, with({{0, most}, {1, 16}}));
  EXPECT_ERROR(kInvalidArgument, with({{0, 64}, {1, UINT64_MAX - 47}})) << "the sum is 16";
  EXPECT_OK(with({{0, most}}));
}

TEST_F(Checks, ThreadgroupMemoryOfTheKernelItselfCounts) {
  KernelRegistry registry;
  registry.register_library("checks_test", R"(
#include <metal_stdlib>
using namespace metal;
kernel void both(device float* out [[buffer(0)]], threadgroup float* given [[threadgroup(0)]],
                 uint t [[thread_position_in_threadgroup]]) {
  threadgroup float own[1024];
  own[t] = 1.0f;
  given[t] = 2.0f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = own[3 - t] + given[3 - t];
}
)");
  const Pipeline both = *registry.get_pipeline("both", device);
  const auto with = [&](uint64_t bytes) {
    return e.encode_threadgroups_with_shared(both, {{0, &out}}, {{0, bytes}}, width(1), width(4));
  };
  const uint64_t rest = device.limits().max_threadgroup_memory - 4096;
  EXPECT_ERROR(kInvalidArgument, with(rest + 16));
  EXPECT_OK(with(rest));
  EXPECT_OK(e.commit_and_wait());
  EXPECT_EQ(read(out), std::vector<float>(4, 3.0f));
}

TEST_F(Checks, ADispatchOfAnotherDeviceIsNotReplayed) {
  const Device other = make_device();
  const Buffer x = zeros(other, 4);
  CommandEncoder recorder = *other.command_encoder();
  recorder.start_capture();
  EXPECT_OK(inc_one(recorder, x, x));
  EXPECT_ERROR(kInvalidArgument, e.replay_dispatch(recorder.take_capture()->front()));
}

TEST_F(Checks, TheProfileCountsWhatIsBound) {
  const Device profiled = device_with(&RuntimeOptions::profile_dispatches);
  const Buffer x = zeros(profiled, 8), y = zeros(profiled, 4);
  const float factor = 2;
  CommandEncoder encoder = *profiled.command_encoder();
  EXPECT_OK(encoder.encode_with_args(kernel(profiled, "scale"),
                                     {{0, {x, 16}}, {1, y}, {2, as_bytes(factor)}}, width(4),
                                     width(4)));
  EXPECT_OK(encoder.commit_and_wait());
  EXPECT_EQ(profiled.profile().dump_dispatches().at(0).second.at(0).bytes_bound, 16u + 16 + 4);
}

}  // namespace
}  // namespace mlxn::test
