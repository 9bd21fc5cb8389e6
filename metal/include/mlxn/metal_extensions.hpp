// What our Metal offers beyond Apple's interface. Not available where Apple's Metal is used.
#pragma once

#include <Metal/Metal.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#ifndef MLXN_METAL_API
#define MLXN_METAL_API __attribute__((visibility("default")))
#endif

namespace mlxn::metal {

struct DeviceOptions {
  std::string executor;           // "cpu", "null" or "discrete"; empty: the setting `executor`
  uint32_t worker_count = 0;      // 0: the executor chooses
  std::string cpu_target;         // level kernels are compiled for; empty: the setting `cpu_target`
  bool dispatch_sampling = true;  // false: counters can be sampled at encoder boundaries only
  bool cache = true;              // keep compiled kernels on disk (always in memory)
  std::string cache_folder;       // empty: the setting `cache_dir`
  // Makes the CPU executor run the threadgroups and transfers between two barriers in a
  // pseudo-random order, another one for each command buffer, so that a missing barrier shows as a
  // wrong result. With one worker and one queue a seed gives the same order each time. 0: the
  // setting `schedule_seed`, which is off unless set.
  uint64_t schedule_seed = 0;
  // Makes the coroutine tier of the CPU executor run threads in descending order. A kernel whose
  // result differs from that in ascending order has a race within a threadgroup.
  bool reverse_threads = false;
  // Lowest tier, 0 to 3, in which kernels run on the CPU; a kernel that cannot takes a higher one.
  // -1: the setting `cpu_tier`, by which the compiler chooses unless set.
  int forced_tier = -1;
  // Accepts a `cpu_target` that this machine cannot run, to compile kernels for others
  // (serialize_kernels); command buffers then fail.
  bool foreign_target = false;
  // Milliseconds after which the commands of a command buffer (those between two of its event
  // commands) are stopped on the CPU and the buffer fails with CommandBufferErrorTimeout. 0: the
  // setting `watchdog_ms`, by which they may run for ever unless set.
  uint32_t watchdog_ms = 0;
  // Whether calls that Apple's validation layer refuses fail their command buffer; without it they
  // do what Metal does then, as far as that is safe (see "What is checked" in docs/metal-api.md).
  // Not set: the setting `validation`, which is off unless set.
  std::optional<bool> validation;
  // 1 or 2: the CPU executor puts every buffer and threadgroup memory between pages that kernels
  // cannot write (1) or touch (2), and freed ones stay out of reach. A store there (a load too)
  // fails the command buffer with CommandBufferErrorPageFault. 0: the setting `guard_memory`, which
  // is off unless set.
  uint32_t guard_memory = 0;
};

// A device of its own, apart from the shared default one. The caller owns it. Null on failure.
MLXN_METAL_API MTL::Device* create_device(const DeviceOptions& options, NS::Error** error);

// Makes one coming call of the device's executor fail, to test how a program behaves then: the
// first one after `after` others of its kind. All calls behind it are normal again. A second call
// for the same kind replaces the first.
enum class Fault {
  kAllocation,  // memory of a buffer (also without a copy), heap or counter sample buffer
  kPipeline,    // loading a compiled kernel
  kRun,         // running the commands of a command buffer between two of its event commands;
                // buffers that were committed before the call do not count
};
MLXN_METAL_API void inject_fault(MTL::Device* device, Fault fault, uint64_t after = 0);

// Receives every validation message ("MTL::Class::call: actual, expected"), on the thread that made
// the wrong call; calls may overlap. An empty function removes it.
using ValidationHandler = std::function<void(const char*)>;
MLXN_METAL_API void set_validation_handler(ValidationHandler handler);

// Folders in which #include "file" of a library's source is looked for.
MLXN_METAL_API void set_include_folders(MTL::CompileOptions* options,
                                        const std::vector<std::string>& folders);

// What the device's cache of compiled kernels has done so far.
struct CacheCounters {
  uint64_t memory_hits = 0;
  uint64_t archive_hits = 0;
  uint64_t disk_hits = 0;
  uint64_t misses = 0;    // the compiler was asked
  uint64_t writes = 0;    // entries stored on disk
  uint64_t failures = 0;  // damaged entries and failed writes; each only cost time
  uint64_t evictions = 0;
};
MLXN_METAL_API CacheCounters cache_counters(const MTL::Device* device);

// What stands behind a device, for tools that report on it.
struct DeviceDescription {
  std::string executor;       // "cpu", "null", "discrete"
  uint32_t worker_count = 0;  // threads that run kernels
  std::string target_cpu;     // what kernels are compiled for, in LLVM's words
  std::string target_features;
  std::string cache_folder;  // of compiled kernels; empty: they are kept in memory alone
  uint64_t cache_max_bytes = 0;
};
MLXN_METAL_API DeviceDescription describe_device(const MTL::Device* device);

// The compiler module. Asking loads it.
struct CompilerDescription {
  std::string version;   // of the code it generates
  std::string path;      // empty: there is none
  std::string found_by;  // "setting msl_module", "beside the library" or "in ../lib"
  std::string problem;   // why it cannot be used; empty: it can
};
MLXN_METAL_API CompilerDescription describe_compiler();

// One line for each command that the `null` executor was given since the last call ("list label",
// "dispatch name grid in group …", "barrier", "copy …", "fill …", "timestamp …"); empty on others.
MLXN_METAL_API std::vector<std::string> take_recorded_commands(MTL::Device* device);

// How often the device had to stop for the host since it was made: in a command buffer that is
// captured or checked for released objects, blits indirect commands or waited for a value set by
// the host. Counted by the `discrete` executor, an executor for tests of programs for devices with
// memory of their own: it runs kernels on the CPU, but the host cannot see Private memory, buffers
// without a copy are refused, and queues run beside each other and beside the host, with delays
// drawn by `schedule_seed`. 0 on others.
MLXN_METAL_API uint64_t host_round_trips(const MTL::Device* device);

// What came of running a capture again.
struct ReplayReport {
  uint64_t command_buffers = 0, dispatches = 0, barriers = 0, memories = 0;
  uint64_t bytes_compared = 0;        // of the memories that the capture may have written
  uint64_t mismatching_memories = 0;  // those that differ from what the capture saw
  std::string first_mismatch;         // "memory 2 'sums' at byte 64: 3, expected 5"
  uint64_t gpu_ns = 0;                // time on the device, all command buffers
  std::vector<std::string> notes;     // why a capture cannot be replayed
};
// Runs the command buffers of a capture again, on any device, and compares the memories with those
// at the end of the capture. True when all ran; differences are told by the report. A file that is
// damaged or cut short gives an error. It holds kernels, which run with the rights of the process:
// replay only captures of people you trust.
MLXN_METAL_API bool replay_capture(MTL::Device* device, const char* path, ReplayReport* report,
                                   NS::Error** error);

// Archives: compiled kernels that a program brings along, so that it needs no compiler. What a
// device has compiled or loaded so far, compressed, as bytes to embed; autoreleased; null when out
// of memory. Devices whose `cpu_target` is a plain level, such as x86-64-v3, make archives for all
// machines of that level and above.
MLXN_METAL_API NS::Data* serialize_kernels(const MTL::Device* device);
// Adds such bytes for all devices of this process; they must stay where they are, and are trusted
// like the program itself. Kernels that were compiled from other text, or by another version of the
// compiler, are not found in them. False for bytes of another form.
MLXN_METAL_API bool add_kernel_archive(const void* bytes, std::size_t size);

// A library as bytes (source and options), for a file or to embed; autoreleased.
MLXN_METAL_API NS::Data* serialize_library(const MTL::Library* library);
// The reverse. Bytes of another form are refused. The caller owns the result.
MLXN_METAL_API MTL::Library* new_library(MTL::Device* device, const void* bytes, std::size_t size,
                                         NS::Error** error);

}  // namespace mlxn::metal
