// KernelRegistry: what is compiled when, what is found under which name, what is forgotten.
#include "mlxn/core/kernels/kernel_registry.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "mlxn/base/strings.h"
#include "mlxn/core/kernels/compile_stats.h"
#include "tests/core/registry_kernels.h"

namespace mlxn::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(KernelRegistry, CachesByName) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("one", constant_kernel("one", "1"));
  EXPECT_FALSE(registry.is_cached("one", device));
  EXPECT_EQ(registry.cached_count(), 0u);
  auto first = registry.get_pipeline("one", device);
  EXPECT_EQ(result_of(device, first), 1);
  EXPECT_TRUE(registry.is_cached("one", device));
  auto second = registry.get_pipeline("one", device);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(first->metal(), second->metal());
  const RegistryStats stats = registry.stats();
  EXPECT_EQ(stats.sources, 1u);
  EXPECT_EQ(stats.pipelines, 1u);
  EXPECT_EQ(stats.compiled, 1u);
  EXPECT_EQ(stats.memory_hits, 1u);
  EXPECT_EQ(stats.failed, 0u);
}

TEST(KernelRegistry, NothingIsCompiledByRegistering) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("broken", "this is no kernel");
  registry.register_library("broken_too", "nor is this");
  EXPECT_EQ(registry.source_count(), 2u);
  EXPECT_EQ(registry.stats().compiled, 0u);
  EXPECT_EQ(registry.stats().failed, 0u);
}

TEST(KernelRegistry, NotFound) {
  Device device = make_device();
  KernelRegistry registry;
  auto pipeline = registry.get_pipeline("nonexistent_kernel", device);
  EXPECT_ERROR(kFunctionNotFound, pipeline);
  EXPECT_EQ(pipeline.error().message(), "kernel not found: 'nonexistent_kernel'");
  registry.register_library("lib", constant_kernel("one", "1"));
  EXPECT_ERROR(kFunctionNotFound, registry.get_pipeline("nonexistent_kernel", device));
  EXPECT_EQ(registry.stats().failed, 2u);
}

TEST(KernelRegistry, SourceWithoutTheEntryPoint) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("two", constant_kernel("one", "1"));
  auto pipeline = registry.get_pipeline("two", device);
  EXPECT_ERROR(kCompileFailed, pipeline);
  EXPECT_EQ(pipeline.error().message(),
            "kernel 'two': the source has no such entry point, only one");
}

TEST(KernelRegistry, CompileErrorsNameKernelAndReason) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("bad", "kernel void bad(device int* out) { out[0] = undeclared; }");
  for (int attempt = 0; attempt < 2; ++attempt) {  // nothing of a failure is kept
    auto pipeline = registry.get_pipeline("bad", device);
    EXPECT_ERROR(kCompileFailed, pipeline);
    EXPECT_THAT(pipeline.error().message(), HasSubstr("kernel 'bad'"));
    EXPECT_THAT(pipeline.error().message(), HasSubstr("undeclared"));
  }
  EXPECT_EQ(registry.stats().failed, 2u);
  EXPECT_EQ(registry.cached_count(), 0u);
  registry.register_source("bad", constant_kernel("bad", "3"));
  EXPECT_EQ(result_of(device, registry.get_pipeline("bad", device)), 3);
}

TEST(KernelRegistry, DistinctPipelinesForDistinctConstants) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("int_fc_test_kernel", kIntKernel);
  registry.register_source("bare_kernel", kIntKernel);
  auto bare = registry.get_pipeline("bare_kernel", device, FunctionConstants());
  EXPECT_OK(bare);
  EXPECT_EQ(bare->key(), "bare_kernel");
  EXPECT_EQ(registry.cached_count(), 1u);
  EXPECT_EQ(*bare, *registry.get_pipeline("bare_kernel", device));

  auto four = registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 4}}));
  auto eight = registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 8}}));
  EXPECT_EQ(registry.cached_count(), 3u);
  auto again = registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 4}}));
  EXPECT_EQ(registry.cached_count(), 3u);
  EXPECT_EQ(*four, *again);
  EXPECT_FALSE(*four == *eight);
  EXPECT_EQ(result_of(device, four), 4);
  EXPECT_EQ(result_of(device, eight), 8);
  FunctionConstants gated = ints({{100, 4}});
  gated.set_bool(200, true);
  EXPECT_EQ(result_of(device, registry.get_pipeline("int_fc_test_kernel", device, gated)), -4);
  EXPECT_TRUE(registry.is_cached("int_fc_test_kernel|100:i4|200:b1", device));
}

TEST(KernelRegistry, LabelsAreKeys) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("label_smoke_kernel", constant_kernel("label_smoke_kernel", "1"));
  registry.register_source("int_fc_test_kernel", kIntKernel);
  auto label = [](const Result<Pipeline>& pipeline) {
    return std::string(pipeline->metal()->label()->utf8String());
  };
  EXPECT_EQ(label(registry.get_pipeline("label_smoke_kernel", device)), "label_smoke_kernel");
  EXPECT_EQ(label(registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 7}}))),
            "int_fc_test_kernel|100:i7");
  EXPECT_EQ(label(registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 13}}))),
            "int_fc_test_kernel|100:i13");
}

// The structured identity, not the label, says what a pipeline runs.
TEST(KernelRegistry, IdentityOfPipelines) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("int_fc_test_kernel", kIntKernel);
  FunctionConstants constants = ints({{100, 7}});
  constants.set_bool(200, false);
  auto pipeline = registry.get_pipeline("int_fc_test_kernel", device, constants);
  ASSERT_TRUE(pipeline);
  EXPECT_EQ(pipeline->identity().name, "int_fc_test_kernel");
  EXPECT_EQ(pipeline->identity().constants, "100:i7|200:b0");
  EXPECT_NE(pipeline->identity().source, 0u);
  EXPECT_EQ(pipeline->access().writes, 1u);

  KernelRegistry other;
  other.register_source("int_fc_test_kernel", kIntKernel);
  EXPECT_EQ(other.get_pipeline("int_fc_test_kernel", device, constants)->identity(),
            pipeline->identity());
  other.register_source("int_fc_test_kernel", std::string(kIntKernel) + "\n");
  EXPECT_NE(other.get_pipeline("int_fc_test_kernel", device, constants)->identity().source,
            pipeline->identity().source);
  other.register_source("int_fc_test_kernel", kIntKernel, {.fast_math = true});
  EXPECT_NE(other.get_pipeline("int_fc_test_kernel", device, constants)->identity().source,
            pipeline->identity().source);
}

// A second device never gets the first one's pipelines.
TEST(KernelRegistry, DevicesAreApart) {
  Device first = make_device(), second = make_device();
  KernelRegistry registry;
  registry.register_source("one", constant_kernel("one", "1"));
  auto a = registry.get_pipeline("one", first);
  EXPECT_TRUE(registry.is_cached("one", first));
  EXPECT_FALSE(registry.is_cached("one", second));
  auto b = registry.get_pipeline("one", second);
  ASSERT_TRUE(a && b);
  EXPECT_FALSE(*a == *b);
  EXPECT_EQ(a->metal()->device(), first.metal_device());
  EXPECT_EQ(b->metal()->device(), second.metal_device());
  EXPECT_EQ(registry.cached_count(), 2u);
  EXPECT_EQ(result_of(second, b), 1);
}

TEST(KernelRegistry, RegisteringAgainReplacesSpecialisedPipelinesToo) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("int_fc_test_kernel", kIntKernel);
  auto old = registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 5}}));
  EXPECT_EQ(result_of(device, old), 5);
  EXPECT_EQ(registry.cached_count(), 1u);
  registry.register_source("int_fc_test_kernel", R"(
      constant int number [[function_constant(100)]];
      kernel void int_fc_test_kernel(device int* out) { out[0] = 1000 + number; })");
  EXPECT_EQ(registry.cached_count(), 0u);
  EXPECT_FALSE(registry.is_cached("int_fc_test_kernel|100:i5", device));
  auto fresh = registry.get_pipeline("int_fc_test_kernel", device, ints({{100, 5}}));
  EXPECT_EQ(result_of(device, fresh), 1005);
  EXPECT_EQ(result_of(device, old), 5);  // a handle keeps what it has
  EXPECT_EQ(registry.source_count(), 1u);
}

TEST(KernelRegistry, TheSameTextAgainChangesNothing) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("one", constant_kernel("one", "1"));
  auto first = registry.get_pipeline("one", device);
  registry.register_source("one", constant_kernel("one", "1"));
  EXPECT_EQ(*registry.get_pipeline("one", device), *first);
  // Other options are another source.
  registry.register_source("one", constant_kernel("one", "1"), {.fast_math = true});
  EXPECT_FALSE(registry.is_cached("one", device));
}

TEST(KernelRegistry, MacrosAreOptionsOfTheSource) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("valued", constant_kernel("valued", "VALUE"),
                           {.macros = {{"VALUE", "4"}}});
  EXPECT_EQ(result_of(device, registry.get_pipeline("valued", device)), 4);
  registry.register_source("valued", constant_kernel("valued", "VALUE"),
                           {.macros = {{"VALUE", "5"}}});
  EXPECT_EQ(result_of(device, registry.get_pipeline("valued", device)), 5);
}

TEST(KernelRegistry, LibrariesAreSearched) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_library("math/add",
                            constant_kernel("add_one", "1") + constant_kernel("other", "2"));
  registry.register_library("math/add_two", constant_kernel("add_two_f32", "22"));
  EXPECT_EQ(result_of(device, registry.get_pipeline("add_one", device)), 1);
  EXPECT_EQ(result_of(device, registry.get_pipeline("other", device)), 2);
  EXPECT_EQ(result_of(device, registry.get_pipeline("add_two_f32", device)), 22);
  auto names = registry.kernel_names(device);
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("add_one", "add_two_f32", "other"));
  // A source under the kernel's own name hides it, and its pipelines.
  registry.register_source("other", constant_kernel("other", "3"));
  EXPECT_FALSE(registry.is_cached("other", device));
  EXPECT_EQ(result_of(device, registry.get_pipeline("other", device)), 3);
  // A replaced library is searched anew.
  registry.register_library("math/add", constant_kernel("add_one", "11"));
  EXPECT_EQ(result_of(device, registry.get_pipeline("add_one", device)), 11);
}

// A library that does not compile is no trouble for kernels of another whose name fits better.
TEST(KernelRegistry, FittingNamesComeFirst) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_library("a_first_by_order", "broken text");
  registry.register_library("family/softmax", constant_kernel("softmax_f32", "6"));
  EXPECT_EQ(result_of(device, registry.get_pipeline("softmax_f32", device)), 6);
  auto missing = registry.get_pipeline("elsewhere", device);
  EXPECT_ERROR(kCompileFailed, missing);  // the broken one may have held it
  EXPECT_THAT(missing.error().message(),
              HasSubstr("kernel 'elsewhere': library 'a_first_by_order'"));
  EXPECT_ERROR(kCompileFailed, registry.kernel_names(device));
  registry.register_library("a_first_by_order", constant_kernel("elsewhere", "7"));
  EXPECT_EQ(result_of(device, registry.get_pipeline("elsewhere", device)), 7);
}

TEST(KernelRegistry, AvailabilityIsKeptForEachDevice) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("variant", "kernel void variant() { no_such_function(); }");
  EXPECT_FALSE(registry.is_available("variant", device));
  EXPECT_FALSE(registry.is_available("variant", device));
  EXPECT_FALSE(registry.is_available("unknown", device));
  EXPECT_EQ(registry.stats().failed, 1u);  // tried once
  EXPECT_TRUE(registry.is_available("variant", make_null_device()));
  registry.register_source("variant", constant_kernel("variant", "1"));
  EXPECT_TRUE(registry.is_available("variant", device));
  EXPECT_TRUE(registry.is_cached("variant", device));
}

// A device that refuses once is asked again.
TEST(KernelRegistry, PassingFailuresAreNotKept) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_source("one", constant_kernel("one", "1"));
  metal::inject_fault(device.metal_device(), metal::Fault::kPipeline);
  auto pipeline = registry.get_pipeline("one", device);
  EXPECT_ERROR(kPipelineFailed, pipeline);
  EXPECT_THAT(pipeline.error().message(), HasSubstr("kernel 'one'"));
  metal::inject_fault(device.metal_device(), metal::Fault::kPipeline);
  EXPECT_FALSE(registry.is_available("one", device));
  EXPECT_TRUE(registry.is_available("one", device));
  EXPECT_EQ(result_of(device, registry.get_pipeline("one", device)), 1);
}

TEST(KernelRegistry, EightThreadsOneCompileEach) {
  constexpr int kThreads = 8, kKernels = 4, kRounds = 20;
  Device device = make_device();
  KernelRegistry registry;
  std::string text;
  for (int k = 0; k < kKernels; ++k) text += constant_kernel(str("k", k), str(10 + k));
  for (int k = 0; k < kKernels; ++k) registry.register_source(str("k", k), text);
  std::vector<Pipeline> seen(kThreads * kKernels);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds * kKernels; ++i) {
        const int k = (i + t) % kKernels;
        auto pipeline = registry.get_pipeline(str("k", k), device);
        if (!pipeline || pipeline->name() != str("k", k)) {
          ++wrong;
        } else {
          seen[t * kKernels + k] = *pipeline;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  for (int i = 0; i < kThreads * kKernels; ++i) EXPECT_EQ(seen[i], seen[i % kKernels]);
  const RegistryStats stats = registry.stats();
  EXPECT_EQ(stats.compiled, 4u);
  EXPECT_EQ(stats.memory_hits, kThreads * kKernels * kRounds - 4u);
  EXPECT_EQ(stats.pipelines, 4u);
}

TEST(KernelRegistry, RegisteringWhileOthersAsk) {
  Device device = make_null_device();
  KernelRegistry registry;
  registry.register_library("lib", "kernel void from_library() {}");
  registry.register_source("changing", "kernel void changing() {} // 0");
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        if (!registry.get_pipeline("changing", device)) ++wrong;
        if (!registry.get_pipeline("from_library", device)) ++wrong;
        registry.cached_count();
      }
    });
  }
  for (int i = 1; i <= 200; ++i) {
    registry.register_source("changing", str("kernel void changing() {} // ", i));
    registry.register_library("lib", str("kernel void from_library() {} // ", i));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(registry.cached_count(), 2u);
}

TEST(KernelRegistry, PrewarmTellsProgressInOrder) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_library("lib",
                            constant_kernel("a", "1") + constant_kernel("b", "2") + kIntKernel);
  std::vector<PipelineRequest> requests = {{"a"},
                                           {"b"},
                                           {"int_fc_test_kernel", ints({{100, 1}})},
                                           {"int_fc_test_kernel", ints({{100, 2}})}};
  for (unsigned threads : {0u, 1u, 3u, 16u}) {
    std::vector<size_t> done;
    std::vector<std::string> names;
    EXPECT_OK(registry.prewarm(device, requests, threads,
                               [&](size_t count, size_t total, const std::string& name) {
                                 EXPECT_EQ(total, 4u);
                                 done.push_back(count);
                                 names.push_back(name);
                               }));
    EXPECT_THAT(done, ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(
        names, testing::UnorderedElementsAre("a", "b", "int_fc_test_kernel", "int_fc_test_kernel"));
  }
  EXPECT_EQ(registry.stats().compiled, 4u);
  EXPECT_TRUE(registry.is_cached("int_fc_test_kernel|100:i2", device));
  EXPECT_OK(registry.prewarm(device, {}));
}

TEST(KernelRegistry, PrewarmGoesOnAfterAFailure) {
  Device device = make_device();
  KernelRegistry registry;
  registry.register_library("lib", constant_kernel("a", "1"));
  size_t calls = 0;
  auto count = [&](size_t, size_t, const std::string&) { ++calls; };
  Status status = registry.prewarm(device, {{"missing1"}, {"a"}, {"missing2"}}, 2, count);
  EXPECT_ERROR(kFunctionNotFound, status);
  EXPECT_THAT(status.error().message(), HasSubstr("missing1"));
  EXPECT_EQ(calls, 3u);
  EXPECT_TRUE(registry.is_cached("a", device));
}

TEST(KernelRegistry, MayDieBeforeItsPipelines) {
  Device device = make_device();
  Result<Pipeline> pipeline = Pipeline();
  {
    KernelRegistry registry;
    registry.register_source("one", constant_kernel("one", "1"));
    pipeline = registry.get_pipeline("one", device);
  }
  EXPECT_EQ(result_of(device, pipeline), 1);
}

TEST(KernelRegistry, ASetIsAddedOnce) {
  KernelRegistry registry;
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      registry.add_once("set", [&](KernelRegistry& to) {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that the others wait
        to.register_library("a", constant_kernel("a", "1"));
        to.register_library("b", constant_kernel("b", "2"));
      });
      EXPECT_EQ(registry.source_count(), 2u);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 1);
  registry.add_once("other", [](KernelRegistry& to) { to.register_source("c", "text"); });
  EXPECT_EQ(registry.source_count(), 3u);
}

TEST(KernelRegistry, OfADevice) {
  const Device device = make_device(), other = make_device();
  const Device second_queue = *device.with_new_queue();
  device.kernels().register_source("one", constant_kernel("one", "1"));
  EXPECT_EQ(result_of(device, second_queue.kernels().get_pipeline("one", second_queue)), 1);
  EXPECT_ERROR(kFunctionNotFound, other.kernels().get_pipeline("one", other));
}

TEST(KernelRegistry, CompileStatsTellWhereKernelsCameFrom) {
  const auto folder =
      std::filesystem::path(testing::TempDir()) / str("mlxn-compile-stats-", getpid());
  std::filesystem::remove_all(folder);
  const auto stats_of_a_new_device = [&] {
    metal::DeviceOptions options;
    options.executor = "cpu";
    options.cache_folder = folder.string();
    NS::Error* error = nullptr;
    auto metal = NS::TransferPtr(metal::create_device(options, &error));
    const Device device = *Device::wrap(metal.get(), {});
    KernelRegistry registry;
    registry.register_library("core_test", kKernelSource);
    EXPECT_OK(registry.get_pipeline("add", device));
    return compile_stats(device);
  };
  const CompileStats cold = stats_of_a_new_device(), warm = stats_of_a_new_device();
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(cold.known);
  EXPECT_GT(cold.compiled, 0u);
  EXPECT_EQ(cold.from_disk, 0u);
  EXPECT_EQ(warm.compiled, 0u);
  EXPECT_EQ(warm.from_disk, cold.compiled);
}

}  // namespace
}  // namespace mlxn::test
