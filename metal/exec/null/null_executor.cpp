#include "metal/exec/null/null_executor.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>

#include "metal/exec/host/host_stream.h"
#include "metal/rt/executor/prepared_list.h"
#include "mlxn/base/strings.h"

namespace mlxn::null {
namespace {

using namespace mlxn::rt;

constexpr size_t kAlignment = 4096;
constexpr size_t kMaxRecord = 65536;

std::string text_of(const Size3& size) {
  return str(size.x, "x", size.y, "x", size.z);
}

// "dispatch k 64x1x1 in 32x1x1 0:offset+size 1:bytes(4)"; bindings in index order.
std::string describe(const CommandList& list, const Dispatch& dispatch) {
  std::string line = str("dispatch ", dispatch.pipeline->kernel.name, " ",
                         dispatch.indirect ? "indirect" : text_of(dispatch.threads_per_grid),
                         " in ", text_of(dispatch.threads_per_threadgroup));
  for (const Binding& binding : list.bindings_of(dispatch)) {
    line += binding.memory ? str(" ", binding.index, ":", binding.offset, "+", binding.size)
                           : str(" ", binding.index, ":bytes(", binding.size, ")");
  }
  for (const ThreadgroupMemory& memory : list.threadgroup_memory_of(dispatch)) {
    line += str(" tg", memory.index, ":", memory.bytes);
  }
  return line;
}
std::string describe(const CommandList&, const Copy& copy) {
  return str("copy ", copy.source_offset, " to ", copy.destination_offset, " size ", copy.size);
}
std::string describe(const CommandList&, const Fill& fill) {
  return str("fill ", fill.offset, "+", fill.size, " with ", +fill.value);
}
std::string describe(const CommandList&, const Barrier&) {
  return "barrier";
}
std::string describe(const CommandList&, const Timestamp& stamp) {
  return str("timestamp at ", stamp.offset);
}

class NullMemory : public Memory {
 public:
  NullMemory(void* bytes, uint64_t length, std::shared_ptr<std::atomic<uint64_t>> counter)
      : counter_(std::move(counter)) {
    host = static_cast<std::byte*>(bytes);
    device_address = reinterpret_cast<uintptr_t>(bytes);
    size = length;
    if (counter_) *counter_ += size;
  }
  ~NullMemory() override {
    if (!counter_) return;  // wrapped: the caller's memory
    *counter_ -= size;
    std::free(host);
  }

 private:
  std::shared_ptr<std::atomic<uint64_t>> counter_;
};

class NullExecutor : public host::HostExecutor {
 public:
  explicit NullExecutor(const NullOptions& options) {
    info_.name = "mlxn null device";
    info_.executor = "null";
    info_.total_memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    info_.max_buffer_length = info_.total_memory;
    info_.dispatch_sampling = options.dispatch_sampling;
    info_.compiles = false;
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::shared_ptr<Memory>> allocate(uint64_t size, Storage) override {
    void* bytes = nullptr;
    if (size > info_.max_buffer_length || posix_memalign(&bytes, kAlignment, size) != 0) {
      return Error(ErrorCode::kOutOfMemory, str("cannot allocate ", size, " bytes"));
    }
    std::memset(bytes, 0, size);
    return std::shared_ptr<Memory>(std::make_shared<NullMemory>(bytes, size, allocated_));
  }

  Result<std::shared_ptr<Memory>> wrap(void* host, uint64_t size) override {
    return std::shared_ptr<Memory>(std::make_shared<NullMemory>(host, size, nullptr));
  }

  Result<std::shared_ptr<Pipeline>> load(const std::string& kernel, const Size3&,
                                         CompileKernel compile) override {
    MLXN_ASSIGN(const auto image, compile({}));
    for (const msl::Kernel& candidate : image->kernels) {
      if (candidate.name != kernel) continue;
      auto pipeline = std::make_shared<Pipeline>();
      pipeline->kernel = candidate;
      return std::shared_ptr<Pipeline>(std::move(pipeline));
    }
    return Error(ErrorCode::kFunctionNotFound, str("the image has no kernel '", kernel, "'"));
  }

  Status run(const CommandList& list, RunTimes& times) override {
    times.start_ns = timestamp_ns();
    Status status = record(list);
    for (const Command& command : list.commands) {
      if (!status) break;
      if (auto* copy = std::get_if<Copy>(&command)) {
        std::memmove(copy->destination->host + copy->destination_offset,
                     copy->source->host + copy->source_offset, copy->size);
      } else if (auto* fill = std::get_if<Fill>(&command)) {
        std::memset(fill->destination->host + fill->offset, fill->value, fill->size);
      } else if (auto* stamp = std::get_if<Timestamp>(&command)) {
        const uint64_t now = timestamp_ns();
        std::memcpy(stamp->destination->host + stamp->offset, &now, sizeof now);
      }
    }
    times.end_ns = timestamp_ns();
    return status;
  }

  uint64_t timestamp_ns() const override {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
  }

  uint64_t allocated_bytes() const override { return *allocated_; }

  std::vector<std::string> take_record() override {
    std::lock_guard lock(mutex_);
    std::vector<std::string> lines(record_.begin(), record_.end());
    record_.clear();
    return lines;
  }

 private:
  Status record(const CommandList& list) {
    std::lock_guard lock(mutex_);
    record_.push_back(str("list ", list.label));
    Status status;
    for (const Command& command : list.commands) {
      if (status) status = std::visit([&](const auto& one) { return note(list, one); }, command);
    }
    while (record_.size() > kMaxRecord) record_.pop_front();
    return status;
  }
  template <class One>
  Status note(const CommandList& list, const One& command) {
    record_.push_back(describe(list, command));
    return {};
  }
  // The commands of a prepared list come in the place of what executes them.
  Status note(const CommandList&, const Execute& execute) {
    const auto prepared = execute.source->current();
    MLXN_ASSIGN(const auto range,
                range_of(execute, execute.indirect ? execute.indirect->host : nullptr));
    return prepared->for_each(range, [&](uint64_t, size_t index) {
      const CommandList& list = prepared->list;
      return std::visit([&](const auto& one) { return note(list, one); }, list.commands[index]);
    });
  }

  std::mutex mutex_;
  std::deque<std::string> record_;
  DeviceInfo info_;
  std::shared_ptr<std::atomic<uint64_t>> allocated_ = std::make_shared<std::atomic<uint64_t>>(0);
};

}  // namespace

std::unique_ptr<rt::Executor> create_executor(const NullOptions& options) {
  return std::make_unique<NullExecutor>(options);
}

}  // namespace mlxn::null
