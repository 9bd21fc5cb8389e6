// The seam below the Metal API. An executor owns memory, streams that run lists of commands, and
// the events between them. Queues, command buffers, reference counts and validation live above it
// in metal/rt and are the same for all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "metal/msl/interface.h"
#include "metal/rt/executor/stream.h"
#include "mlxn/base/result.h"

namespace mlxn::rt {

// Bytes an executor can reach. Executors derive from it to keep what they need to free.
// Destroyed when the last buffer, heap or pending command buffer that uses it is gone.
class Memory {
 public:
  virtual ~Memory() = default;
  std::byte* host = nullptr;    // null when the host cannot see it (Private on a discrete device)
  uint64_t device_address = 0;  // what kernels see; equals host on the CPU executor
  uint64_t size = 0;
  uint64_t padding = 0;  // bytes behind `size` that belong to it too
};

enum class Storage { kShared, kPrivate };

struct PipelineOrigin;

struct Size3 {
  uint64_t x = 1, y = 1, z = 1;
  bool operator==(const Size3&) const = default;
};

// A loaded kernel. Thread-safe; what can be seen of it does not change.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  // Called when a dispatch is encoded, where `prepares`: sees to all that it needs, which may be
  // compiled now. The grid has less than 2^32 threads in each dimension, in groups of 1 to 1024.
  virtual Status prepare(const Size3& /*grid*/, const Size3& /*group*/) const { return {}; }

  msl::Kernel kernel;
  bool prepares = false;
  std::shared_ptr<const PipelineOrigin> origin;  // the run time's own note, for captures
};

// Gives the code of a kernel. The executor says for which target and how, the run time fills in
// entry point and constants, and looks into its caches first. Thread-safe; the executor may keep it
// with the pipeline.
using CompileKernel =
    std::function<Result<std::shared_ptr<const msl::Image>>(msl::CompileRequest request)>;

// Pointers in a command list stay valid until the list has run: whoever built it sees to that.

// One bound buffer: a range of memory, or of bytes copied into the list. An empty range of the
// latter means that nothing is bound: a kernel reads zeros there, and its stores fail.
struct Binding {
  uint32_t index = 0;
  Memory* memory = nullptr;  // null for inline bytes
  uint64_t offset = 0;       // into memory, or into CommandList::inline_bytes
  uint64_t size = 0;
};

// Without bytes: as an empty range of a binding.
struct ThreadgroupMemory {
  uint32_t index = 0;
  uint64_t bytes = 0;
};

struct Dispatch {
  const Pipeline* pipeline = nullptr;
  uint64_t first_binding = 0, first_threadgroup_memory = 0;  // in the list's vectors
  uint32_t binding_count = 0, threadgroup_memory_count = 0;
  Size3 threads_per_grid;  // exact grid; a multiple of the threadgroup unless dispatchThreads
  Size3 threads_per_threadgroup;
  // When set, three uint32 threadgroup counts are read there as the dispatch starts and replace
  // threads_per_grid (counts times threadgroup size).
  Memory* indirect = nullptr;
  uint64_t indirect_offset = 0;
};

struct Copy {
  Memory* source = nullptr;
  Memory* destination = nullptr;
  uint64_t source_offset = 0, destination_offset = 0, size = 0;
};

struct Fill {
  Memory* destination = nullptr;
  uint64_t offset = 0, size = 0;
  uint8_t value = 0;
};

// All commands before it are finished and visible before any command after it starts.
struct Barrier {};

// Stores the executor's time at this point of the list (waits for commands before it).
struct Timestamp {
  Memory* destination = nullptr;
  uint64_t offset = 0;
};

class ListSource;

// Runs places of a prepared list (prepared_list.h), as if their commands stood here: what no
// barrier separates may overlap, also with the commands around this one. The version is taken as
// the command starts, or by a device that runs by itself at submission.
struct Execute {
  ListSource* source = nullptr;
  uint64_t first = 0, count = 0;  // places beyond the end are left out
  // When set, two uint32 are read there as the command starts: first and count.
  Memory* indirect = nullptr;
  uint64_t indirect_offset = 0;
};

using Command = std::variant<Dispatch, Copy, Fill, Barrier, Timestamp, Execute>;

// What one command buffer asks for. Commands between two barriers are independent and may overlap.
// Flat, so that encoding a dispatch appends to a few vectors and allocates nothing when they are
// warm.
struct CommandList {
  std::vector<Command> commands;
  std::vector<Binding> bindings;
  std::vector<ThreadgroupMemory> threadgroup_memory;
  std::vector<std::byte>
      inline_bytes;  // setBytes data; bindings without memory point into it, 16-byte aligned
  std::string label;

  std::span<const Binding> bindings_of(const Dispatch& dispatch) const {
    return {bindings.data() + dispatch.first_binding, dispatch.binding_count};
  }
  std::span<const ThreadgroupMemory> threadgroup_memory_of(const Dispatch& dispatch) const {
    return {threadgroup_memory.data() + dispatch.first_threadgroup_memory,
            dispatch.threadgroup_memory_count};
  }
};

struct DeviceInfo {
  std::string name;
  std::string executor;  // its name in the registry
  bool unified_memory = true;
  uint64_t total_memory = 0;
  uint64_t max_buffer_length = 0;
  uint64_t max_threadgroup_memory = 32768;
  uint32_t max_threads_per_threadgroup = 1024;
  uint32_t worker_count = 0;
  bool dispatch_sampling = true;  // counter sampling at dispatch boundaries
  bool guards_memory = false;     // accesses outside an allocation fault, as far as that can be
  bool compiles = true;           // false: pipelines need no compiled code (null executor)
  msl::Target target;
  std::vector<msl::Target> other_targets;  // whose code it runs too, best first
  msl::CompileRequest usual_code;          // what `load` asks for unless threads are required
};

// Thread-safe: several queues call in at once.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const DeviceInfo& info() const = 0;
  // New zero-filled memory.
  virtual Result<std::shared_ptr<Memory>> allocate(uint64_t size, Storage storage) = 0;
  // Wraps caller-owned host memory without a copy; the caller keeps it alive longer than the
  // result.
  virtual Result<std::shared_ptr<Memory>> wrap(void* host, uint64_t size) = 0;
  // Makes the named kernel executable. Dispatches will have `required` threads in a threadgroup, or
  // any number if that is zeros; what the kernel itself requires has precedence.
  virtual Result<std::shared_ptr<Pipeline>> load(const std::string& kernel, const Size3& required,
                                                 CompileKernel compile) = 0;
  // Never null. Streams and events end before their executor.
  virtual std::unique_ptr<Stream> create_stream() = 0;
  virtual std::unique_ptr<Event> create_event() = 0;
  virtual uint64_t timestamp_ns() const = 0;
  virtual uint64_t allocated_bytes() const = 0;
  // One line for each command since the last call, from executors that record (null); else nothing.
  virtual std::vector<std::string> take_record() { return {}; }
  // Times that the device stopped for the host, from executors that count them; else 0.
  virtual uint64_t host_round_trips() const { return 0; }
};

}  // namespace mlxn::rt
