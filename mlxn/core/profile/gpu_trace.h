#pragma once

#include <memory>
#include <optional>
#include <string>

#include "mlxn/core/device/device.h"

namespace mlxn {

// A GPU trace of what one command queue does, written by the system's capture manager. On Apple
// systems a .gputrace bundle; with our Metal a file that `mlxn replay` runs again.
class GpuTrace {
 public:
  // Starts a capture scoped to the device's queue. kUnsupported where the system does not capture,
  // kInvalidState while another capture runs, kIo for a path that cannot be written.
  static Result<GpuTrace> start(const Device& device, const std::string& path);
  // For the first graph session of a context: when RuntimeOptions::capture_path is set and no
  // capture of this process has succeeded before. A failed attempt warns and leaves the chance.
  static std::optional<GpuTrace> from_options(const Device& device);
  static void rearm();  // the next from_options may capture again

  GpuTrace(GpuTrace&&) noexcept;
  GpuTrace& operator=(GpuTrace&&) noexcept;
  ~GpuTrace();  // ends it

  // Closes the scope and stops the manager; whatever was started is stopped. Idempotent.
  void end();
  const std::string& path() const { return path_; }

 private:
  GpuTrace(NS::SharedPtr<MTL::CaptureScope> scope, std::string path);

  NS::SharedPtr<MTL::CaptureScope> scope_;
  std::string path_;
};

}  // namespace mlxn
