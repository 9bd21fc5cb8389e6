#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mlxn/core/device.h"
#include "mlxn/core/function_constants.h"
#include "mlxn/core/pipeline.h"

namespace mlxn {

struct PipelineRequest {
  std::string name;
  FunctionConstants constants = {};
};

struct RegistryStats {
  uint64_t sources = 0;      // registered texts
  uint64_t pipelines = 0;    // in memory now
  uint64_t memory_hits = 0;  // requests answered from memory
  uint64_t compiled = 0;     // requests that built a pipeline
  uint64_t failed = 0;
};

// Called with (done, total, kernel) as a prewarm goes on; calls do not overlap.
using PrewarmProgress = std::function<void(size_t, size_t, const std::string&)>;

// MSL sources and the pipelines made of them. Pipelines are compiled when first asked for and kept
// by device, source text, entry point, constants and options. Thread-safe: threads that ask for the
// same pipeline wait for one compile, others go on.
class KernelRegistry {
 public:
  KernelRegistry();  // empty; mlxn/ops adds the library's own kernels
  ~KernelRegistry();
  KernelRegistry(const KernelRegistry&) = delete;
  KernelRegistry& operator=(const KernelRegistry&) = delete;

  // The text that holds the entry point `name`. Replaces an earlier text under that name, and with
  // it all pipelines made of it, specialised ones included.
  void register_source(std::string name, std::string text);
  // A text whose entry points are found by asking the compiler when a name is looked for.
  void register_library(std::string name, std::string text);

  // kFunctionNotFound when no source has this entry point ("kernel not found"); kCompileFailed with
  // the kernel's name and the compiler's message; a failure is not kept, the next call tries again.
  Result<Pipeline> get_pipeline(std::string_view name, const Device& device);
  Result<Pipeline> get_pipeline(std::string_view name, const Device& device,
                                const FunctionConstants& constants);

  // Compiles a set with `threads` threads (0: one for each core). Goes on after a failure and
  // returns the first one.
  Status prewarm(const Device& device, ArrayRef<PipelineRequest> requests, unsigned threads = 0,
                 const PrewarmProgress& progress = {});

  // `key` is the kernel's name, followed by its constants as FunctionConstants::to_string has them.
  bool is_cached(std::string_view key, const Device& device) const;
  size_t cached_count() const;
  size_t source_count() const;
  // Every entry point of every source; compiles libraries as far as needed.
  Result<std::vector<std::string>> kernel_names(const Device& device);
  RegistryStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlxn
