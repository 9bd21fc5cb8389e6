// The back end of our own Metal.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <mlxn/metal_extensions.hpp>

#include "apps/mlxn/backend.h"

namespace mlxn::cli {
namespace {

namespace fs = std::filesystem;

// Whether a file can be made in this folder, or above it where it is not there yet: by making one.
bool is_writable(fs::path folder) {
  std::error_code ignored;
  while (!fs::exists(folder, ignored)) {
    fs::path parent = folder.parent_path();
    if (parent == folder || parent.empty()) return false;
    folder = std::move(parent);
  }
  const std::string probe = (folder / (".mlxn-doctor-" + std::to_string(getpid()))).string();
  const int file = open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  close(file);
  return unlink(probe.c_str()) == 0;
}

std::vector<std::pair<std::string, uint64_t>> counters_of(const MTL::Device* device) {
  const metal::CacheCounters counters = metal::cache_counters(device);
  return {{"memory_hits", counters.memory_hits}, {"archive_hits", counters.archive_hits},
          {"disk_hits", counters.disk_hits},     {"misses", counters.misses},
          {"writes", counters.writes},           {"failures", counters.failures},
          {"evictions", counters.evictions}};
}

CacheReport report_cache(const metal::DeviceDescription& device) {
  CacheReport report;
  report.folder = device.cache_folder;
  if (report.folder.empty()) return report;
  report.max_bytes = device.cache_max_bytes;
  report.writable = is_writable(report.folder);
  std::error_code error;
  for (fs::recursive_directory_iterator at(report.folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;  // other processes may remove entries meanwhile
    if (at->path().extension() != ".mlxn" || !at->is_regular_file(gone)) continue;
    const uint64_t size = at->file_size(gone);
    if (gone) continue;
    ++report.entries;
    report.bytes += size;
  }
  return report;
}

}  // namespace

BackendReport report_backend(const MTL::Device* device) {
  const metal::DeviceDescription description = metal::describe_device(device);
  const metal::CompilerDescription compiler = metal::describe_compiler();
  BackendReport report;
  report.executor = description.executor;
  report.worker_count = description.worker_count;
  report.target_cpu = description.target_cpu;
  report.target_features = description.target_features;
  report.compiler = {compiler.version, compiler.path, compiler.found_by, compiler.problem};
  report.cache = report_cache(description);
  report.cache.counters = counters_of(device);
  return report;
}

ReplayResult replay_capture(const std::string& path, uint64_t schedule_seed) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  metal::ReplayReport report;
  NS::Error* error = nullptr;
  metal::DeviceOptions options;
  options.schedule_seed = schedule_seed;
  const auto device = NS::TransferPtr(metal::create_device(options, &error));
  const bool ran = device && metal::replay_capture(device.get(), path.c_str(), &report, &error);
  ReplayResult result;
  result.command_buffers = report.command_buffers;
  result.dispatches = report.dispatches;
  result.barriers = report.barriers;
  result.memories = report.memories;
  result.bytes_compared = report.bytes_compared;
  result.mismatching_memories = report.mismatching_memories;
  result.first_mismatch = report.first_mismatch;
  result.gpu_ns = report.gpu_ns;
  result.notes = report.notes;
  if (!ran) {
    result.problem = error ? error->localizedDescription()->utf8String() : "it did not run";
  }
  return result;
}

}  // namespace mlxn::cli
