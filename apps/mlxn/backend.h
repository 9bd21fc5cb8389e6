// What lies below Metal's interface, as far as it can be known.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <Metal/Metal.hpp>

namespace mlxn::cli {

struct CompilerReport {
  std::string version, path, found_by;
  std::string problem;  // empty: it is there and works
};

struct CacheReport {
  std::string folder;  // empty: compiled kernels are not kept on disk
  uint64_t max_bytes = 0;
  uint64_t bytes = 0, entries = 0;
  bool writable = false;
  // Since the device was made, by name.
  std::vector<std::pair<std::string, uint64_t>> counters;
};

struct BackendReport {
  std::string executor;
  uint32_t worker_count = 0;
  std::string target_cpu, target_features;
  CompilerReport compiler;
  CacheReport cache;
};

BackendReport report_backend(const MTL::Device* device);

// What came of running a frame capture again.
struct ReplayResult {
  uint64_t command_buffers = 0, dispatches = 0, barriers = 0, memories = 0;
  uint64_t bytes_compared = 0, mismatching_memories = 0;
  std::string first_mismatch;
  uint64_t gpu_ns = 0;
  std::vector<std::string> notes;
  std::string problem;  // why it did not run to its end; empty: it did
};
// On a device of its own; with a seed, one that shuffles what no barrier orders.
ReplayResult replay_capture(const std::string& path, uint64_t schedule_seed);

}  // namespace mlxn::cli
