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

// Loads a kernel whose code, whatever is asked for, is that image.
inline Result<std::shared_ptr<rt::Pipeline>> load_image(rt::Executor& executor, msl::Image image,
                                                        const std::string& kernel) {
  auto code = std::make_shared<const msl::Image>(std::move(image));
  return executor.load(
      kernel, {0, 0, 0},
      [code](const msl::CompileRequest&) -> Result<std::shared_ptr<const msl::Image>> {
        return code;
      });
}

// A dispatch with the lists that a command list holds for it.
struct TestDispatch : rt::Dispatch {
  std::shared_ptr<const rt::Pipeline> kernel;
  std::vector<rt::Binding> bindings;
  std::vector<rt::ThreadgroupMemory> threadgroup_memory;
};
using TestCommand =
    std::variant<TestDispatch, rt::Copy, rt::Fill, rt::Barrier, rt::Timestamp, rt::Execute>;

template <class Command>
void append(rt::CommandList& list, const Command& command) {
  list.commands.emplace_back(command);
}
inline void append(rt::CommandList& list, const TestDispatch& dispatch) {
  rt::Dispatch out = dispatch;
  out.pipeline = dispatch.kernel.get();
  out.first_binding = list.bindings.size();
  out.binding_count = static_cast<uint32_t>(dispatch.bindings.size());
  out.first_threadgroup_memory = list.threadgroup_memory.size();
  out.threadgroup_memory_count = static_cast<uint32_t>(dispatch.threadgroup_memory.size());
  list.bindings.insert(list.bindings.end(), dispatch.bindings.begin(), dispatch.bindings.end());
  list.threadgroup_memory.insert(list.threadgroup_memory.end(), dispatch.threadgroup_memory.begin(),
                                 dispatch.threadgroup_memory.end());
  list.commands.emplace_back(out);
}

class CpuTest : public testing::Test {
 protected:
  static std::unique_ptr<host::HostExecutor> make_executor(uint32_t workers) {
    CpuOptions options;
    options.workers = workers;
    auto made = create_executor(options);
    EXPECT_EQ(made->info().worker_count, workers);
    return made;
  }

  std::shared_ptr<const rt::Pipeline> load(const std::string& object, const std::string& kernel,
                                           msl::Tier tier) {
    auto loaded = load_image(*executor_, make_image(*executor_, object, kernel, tier), kernel);
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

  static TestDispatch dispatch(std::shared_ptr<const rt::Pipeline> pipeline, rt::Size3 grid,
                               rt::Size3 group,
                               const std::vector<std::shared_ptr<rt::Memory>>& buffers) {
    TestDispatch out;
    out.kernel = std::move(pipeline);
    out.threads_per_grid = grid;
    out.threads_per_threadgroup = group;
    for (uint32_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i]) out.bindings.push_back({i, buffers[i].get(), 0, buffers[i]->size});
    }
    return out;
  }
  using MemoryPtr = std::shared_ptr<rt::Memory>;
  static rt::Copy copy(const MemoryPtr& from, const MemoryPtr& to, uint64_t from_offset,
                       uint64_t to_offset, uint64_t size) {
    return {from.get(), to.get(), from_offset, to_offset, size};
  }
  static rt::Fill fill(const MemoryPtr& to, uint64_t offset, uint64_t size, uint8_t value) {
    return {to.get(), offset, size, value};
  }
  static rt::Timestamp timestamp(const MemoryPtr& to, uint64_t offset) {
    return {to.get(), offset};
  }

  Status run(const std::vector<TestCommand>& commands, std::vector<std::byte> inline_bytes = {}) {
    rt::CommandList list;
    list.inline_bytes = std::move(inline_bytes);
    for (const TestCommand& command : commands) {
      std::visit([&](const auto& one) { append(list, one); }, command);
    }
    rt::RunTimes times;
    Status status = executor_->run(list, times);
    EXPECT_LE(times.start_ns, times.end_ns);
    return status;
  }

  std::unique_ptr<host::HostExecutor> executor_ = make_executor(2);
};

}  // namespace mlxn::cpu
