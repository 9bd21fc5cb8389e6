// Helpers for tests of the CPU executor: hand-compiled kernels as images, buffers as spans.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metal/exec/cpu/cpu_executor.h"

namespace mlxn::cpu {

inline std::vector<uint8_t> read_object(const std::string& name) {
  std::ifstream file(std::string(MLXN_TEST_OBJECTS) + "/" + name + ".o", std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline msl::Image make_image(const rt::Executor& executor, const std::string& object,
                             const std::string& kernel, msl::Tier tier) {
  msl::Image image;
  image.target = executor.info().target.to_key();
  image.code = read_object(object);
  msl::Kernel entry;
  entry.name = kernel;
  entry.symbol = kernel;
  entry.tier = tier;
  entry.frame_bytes = tier == msl::Tier::kCoroutine ? 64 : 0;
  entry.static_threadgroup_bytes = 4096;
  image.kernels = {entry};
  return image;
}

class CpuTest : public testing::Test {
 protected:
  static std::unique_ptr<rt::Executor> make_executor(uint32_t workers) {
    CpuOptions options;
    options.workers = workers;
    return create_executor(options);
  }

  std::shared_ptr<const rt::Pipeline> load(const std::string& object, const std::string& kernel,
                                           msl::Tier tier) {
    auto loaded = executor_->load(make_image(*executor_, object, kernel, tier), kernel);
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return loaded ? *loaded : nullptr;
  }
  std::shared_ptr<const rt::Pipeline> load_loop(const std::string& kernel) {
    return load("loops", kernel, msl::Tier::kWorkItemLoop);
  }
  std::shared_ptr<const rt::Pipeline> load_coroutine(const std::string& kernel) {
    return load("coroutines", kernel, msl::Tier::kCoroutine);
  }

  std::shared_ptr<rt::Memory> allocate(uint64_t bytes) {
    auto memory = executor_->allocate(bytes, rt::Storage::kShared);
    EXPECT_TRUE(memory) << memory.error().to_string();
    return memory ? *memory : nullptr;
  }
  template <class T>
  static std::span<T> view(const std::shared_ptr<rt::Memory>& memory) {
    return {reinterpret_cast<T*>(memory->host), memory->size / sizeof(T)};
  }

  static rt::Dispatch dispatch(std::shared_ptr<const rt::Pipeline> pipeline, rt::Size3 grid,
                               rt::Size3 group, std::vector<std::shared_ptr<rt::Memory>> buffers) {
    rt::Dispatch out;
    out.pipeline = std::move(pipeline);
    out.threads_per_grid = grid;
    out.threads_per_threadgroup = group;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i]) out.bindings.push_back({i, buffers[i], 0, buffers[i]->size});
    }
    return out;
  }

  Status run(std::vector<rt::Command> commands) {
    rt::CommandList list;
    list.commands = std::move(commands);
    rt::RunTimes times;
    Status status = executor_->run(list, times);
    EXPECT_LE(times.start_ns, times.end_ns);
    return status;
  }

  std::unique_ptr<rt::Executor> executor_ = make_executor(2);
};

}  // namespace mlxn::cpu
