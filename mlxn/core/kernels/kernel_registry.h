#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlxn/base/array_ref.h"
#include "mlxn/core/device/device.h"
#include "mlxn/core/kernels/function_constants.h"
#include "mlxn/core/kernels/pipeline.h"

namespace mlxn {

// How a source is compiled.
struct SourceOptions {
  // Lets the compiler reorder floating-point arithmetic; results then differ between devices.
  bool fast_math = false;
  std::vector<std::pair<std::string, std::string>> macros = {};  // name, text
  friend bool operator==(const SourceOptions&, const SourceOptions&) = default;
};

struct PipelineRequest {
  std::string name;
  FunctionConstants constants = {};
};

struct RegistryStats {
  uint64_t sources = 0;      // registered names
  uint64_t pipelines = 0;    // in memory now
  uint64_t memory_hits = 0;  // requests answered from memory
  uint64_t compiled = 0;     // requests that built a pipeline; compile_stats says from what
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
  // it all pipelines made of it, specialised ones included; the same text again changes nothing.
  // Pipelines handed out before stay valid.
  void register_source(std::string name, std::string text, SourceOptions options = {});
  // A text whose entry points are found by asking the compiler when a name is looked for. Sources
  // registered under the wanted name come first, then libraries whose name (its part behind the
  // last '/') begins the wanted name, then the others.
  void register_library(std::string name, std::string text, SourceOptions options = {});

  // Registers a set of sources that many ask for: `add` is called the first time only, and all
  // calls return when it is done. It must not call add_once.
  void add_once(std::string_view set, const std::function<void(KernelRegistry&)>& add);

  // kFunctionNotFound when no source has this entry point ("kernel not found"); kCompileFailed with
  // the kernel's name and the compiler's message; kPipelineFailed when the device refuses the code.
  // A failure is not kept: the next call tries again.
  Result<Pipeline> get_pipeline(std::string_view name, const Device& device);
  Result<Pipeline> get_pipeline(std::string_view name, const Device& device,
                                const FunctionConstants& constants);
  // Whether this kernel compiles for this device: for ops that choose between variants. That it
  // does not is remembered for each device, until the source is replaced.
  bool is_available(std::string_view name, const Device& device,
                    const FunctionConstants& constants = {});

  // Compiles a set with `threads` threads (0: one for each core). Goes on after a failure and
  // returns that of the earliest request.
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
