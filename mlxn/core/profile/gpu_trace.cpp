#include "mlxn/core/profile/gpu_trace.h"

#include <mutex>

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"

namespace mlxn {
namespace {

constexpr const char* kScopeLabel = "mlx_native.frame";

// One capture by options for each process. The lock also keeps two first sessions apart.
std::mutex g_latch_mutex;
bool g_latched = false;

// The descriptor is ours, so what is wrong with it can only be the path.
ErrorCode code_of(const NS::Error* error) {
  switch (error ? error->code() : NS::Integer{MTL::CaptureErrorNotSupported}) {
    case MTL::CaptureErrorNotSupported: return ErrorCode::kUnsupported;
    case MTL::CaptureErrorAlreadyCapturing: return ErrorCode::kInvalidState;
    default: return ErrorCode::kIo;
  }
}

}  // namespace

GpuTrace::GpuTrace(NS::SharedPtr<MTL::CaptureScope> scope, std::string path)
    : scope_(std::move(scope)), path_(std::move(path)) {}

Result<GpuTrace> GpuTrace::start(const Device& device, const std::string& path) {
  if (path.empty()) return Error(ErrorCode::kInvalidArgument, "frame capture: the path is empty");
  AutoreleaseScope autorelease;
  MTL::CaptureManager* manager = MTL::CaptureManager::sharedCaptureManager();
  if (!manager || !manager->supportsDestination(MTL::CaptureDestinationGPUTraceDocument)) {
    return Error(ErrorCode::kUnsupported,
                 "frame capture: the system does not write trace documents");
  }
  if (manager->isCapturing()) {
    return Error(ErrorCode::kInvalidState, "frame capture: another capture is running");
  }
  auto scope = NS::TransferPtr(manager->newCaptureScope(device.metal_queue()));
  if (!scope) return Error(ErrorCode::kUnsupported, "frame capture: the queue has no scope");
  scope->setLabel(ns_string(kScopeLabel));
  auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
  descriptor->setCaptureObject(scope.get());
  descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
  descriptor->setOutputURL(NS::URL::fileURLWithPath(ns_string(path)));
  NS::Error* error = nullptr;
  if (!manager->startCapture(descriptor.get(), &error)) {
    return Error(code_of(error), str("frame capture to ", path, ": ", to_text(error)));
  }
  scope->beginScope();
  return GpuTrace(std::move(scope), path);
}

std::optional<GpuTrace> GpuTrace::from_options(const Device& device) {
  const std::string& path = device.options().capture_path;
  if (path.empty()) return std::nullopt;
  std::lock_guard lock(g_latch_mutex);
  if (g_latched) return std::nullopt;
  auto capture = start(device, path);
  if (!capture) {
    log(LogLevel::kWarning, capture.error().message());
    return std::nullopt;
  }
  g_latched = true;
  return std::move(*capture);
}

void GpuTrace::rearm() {
  std::lock_guard lock(g_latch_mutex);
  g_latched = false;
}

GpuTrace::GpuTrace(GpuTrace&&) noexcept = default;

GpuTrace& GpuTrace::operator=(GpuTrace&& other) noexcept {
  if (this == &other) return *this;
  end();
  scope_ = std::move(other.scope_);
  path_ = std::move(other.path_);
  return *this;
}

GpuTrace::~GpuTrace() {
  end();
}

void GpuTrace::end() {
  if (!scope_) return;
  scope_->endScope();
  MTL::CaptureManager::sharedCaptureManager()->stopCapture();
  scope_.reset();
}

}  // namespace mlxn
