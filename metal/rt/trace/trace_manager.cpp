// Trace manager and scopes: what is captured, and where to.
#include "metal/rt/trace/trace.h"

#include <mutex>

#include "metal/rt/device/validation.h"
#include "metal/rt/queue/command_buffer.h"
#include "mlxn/base/strings.h"

MLXN_RT_OBJECT(MTL::CaptureDescriptor, CaptureDescriptorObject)
MLXN_RT_OBJECT(MTL::CaptureManager, CaptureManagerObject)
MLXN_RT_OBJECT(MTL::CaptureScope, CaptureScopeObject)

namespace mlxn::rt {

class CaptureDescriptorObject : public Object {
 public:
  using Api = MTL::CaptureDescriptor;
  MLXN_CLONEABLE(CaptureDescriptorObject)
  Ref<Object> captureObject;
  MTL::CaptureDestination destination = MTL::CaptureDestinationDeveloperTools;
  Ref<UrlObject> outputURL;
};

class CaptureScopeObject : public Object {
 public:
  using Api = MTL::CaptureScope;
  Ref<DeviceObject> device;
  Ref<QueueObject> commandQueue;
  Label label;
  std::atomic<bool> open = false;
};

class CaptureManagerObject : public Object {
 public:
  using Api = MTL::CaptureManager;
  std::mutex mutex;
  Ref<CaptureScopeObject> defaultCaptureScope;
};

namespace {

constexpr const char* kCall = "MTL::CaptureManager::startCapture";

// Null where the capture object does not limit it.
struct TraceTarget {
  Ref<DeviceObject> device;
  Ref<QueueObject> queue;
  Ref<CaptureScopeObject> scope;

  bool wants(const QueueObject& candidate) const {
    return device.get() == candidate.device.get() && (!queue || queue.get() == &candidate) &&
           (!scope || scope->open);
  }
};

// All managers share one state: there is one capture at a time.
struct TraceState {
  std::atomic<bool> capturing = false;  // read by every commit
  std::mutex mutex;
  std::shared_ptr<Trace> capture;
  TraceTarget target;
};

TraceState& state() {
  static auto& instance = *new TraceState;
  return instance;
}

Result<TraceTarget> target_of(Object* object) {
  TraceTarget target;
  target.queue = Ref(dynamic_cast<QueueObject*>(object));
  target.scope = Ref(dynamic_cast<CaptureScopeObject*>(object));
  target.device = Ref(dynamic_cast<DeviceObject*>(object));
  if (target.scope) {
    target.device = target.scope->device;
    target.queue = target.scope->commandQueue;
  } else if (target.queue) {
    target.device = target.queue->device;
  }
  if (target.device) return target;
  return Error(ErrorCode::kInvalidArgument,
               object ? "the capture object is no Device, CommandQueue or CaptureScope"
                      : "the descriptor has no capture object");
}

Status start(const CaptureDescriptorObject* descriptor) {
  MLXN_ASSIGN(TraceTarget target,
              target_of(descriptor ? descriptor->captureObject.get() : nullptr));
  if (descriptor->destination != MTL::CaptureDestinationGPUTraceDocument) {
    return Error(ErrorCode::kUnsupported,
                 str("destination ", static_cast<long>(descriptor->destination),
                     ", expected GPUTraceDocument (2)"));
  }
  const std::string path = descriptor->outputURL ? descriptor->outputURL->path : "";
  if (path.empty()) {
    return Error(ErrorCode::kInvalidArgument, "no outputURL, expected the URL of a new file");
  }
  TraceState& shared = state();
  std::lock_guard lock(shared.mutex);
  if (shared.capture) return Error(ErrorCode::kInvalidState, "a capture is already running");
  MLXN_ASSIGN(shared.capture, Trace::start(path));
  shared.target = std::move(target);
  shared.capturing = true;
  return {};
}

MTL::CaptureError error_code(ErrorCode code) {
  if (code == ErrorCode::kUnsupported) return MTL::CaptureErrorNotSupported;
  if (code == ErrorCode::kInvalidState) return MTL::CaptureErrorAlreadyCapturing;
  return MTL::CaptureErrorInvalidDescriptor;
}

// The forms without a descriptor have no place to write to.
void refuse_start() {
  report(kCall, "needs a descriptor with destination GPUTraceDocument and an outputURL");
}

}  // namespace

std::shared_ptr<Trace> trace_for(const QueueObject& queue) {
  TraceState& shared = state();
  if (!shared.capturing.load(std::memory_order_relaxed)) return nullptr;
  std::lock_guard lock(shared.mutex);
  if (!shared.capture || !shared.target.wants(queue)) return nullptr;
  shared.capture->begin_buffer();
  return shared.capture;
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(CaptureDescriptor)
MLXN_OBJECT_GETTER(CaptureDescriptor, NS::Object, captureObject)
MLXN_VALUE(CaptureDescriptor, CaptureDestination, destination, setDestination)
MLXN_OBJECT(CaptureDescriptor, NS::URL, outputURL, setOutputURL)
void CaptureDescriptor::setCaptureObject(NS::Object* captureObject) {
  if (auto* self = impl(this)) self->captureObject = Ref(impl(captureObject));
}

MLXN_OBJECT_GETTER(CaptureScope, Device, device)
MLXN_OBJECT_GETTER(CaptureScope, CommandQueue, commandQueue)
MLXN_LABEL(CaptureScope, label, setLabel)
void CaptureScope::beginScope() {
  if (auto* self = impl(this)) self->open = true;
}
void CaptureScope::endScope() {
  if (auto* self = impl(this)) self->open = false;
}

MLXN_ALLOC(CaptureManager)
CaptureManager* CaptureManager::sharedCaptureManager() {
  static auto* manager = new CaptureManagerObject;
  return api(manager);
}

CaptureScope* CaptureManager::newCaptureScope(const Device* device) {
  if (!device) return nullptr;
  auto scope = make<CaptureScopeObject>();
  scope->device = Ref(impl(device));
  return owned(std::move(scope));
}

CaptureScope* CaptureManager::newCaptureScope(const CommandQueue* commandQueue) {
  if (!commandQueue) return nullptr;
  auto scope = make<CaptureScopeObject>();
  scope->commandQueue = Ref(impl(commandQueue));
  scope->device = scope->commandQueue->device;
  return owned(std::move(scope));
}

CaptureScope* CaptureManager::defaultCaptureScope() const {
  auto* self = impl(this);
  if (!self) return nullptr;
  std::lock_guard lock(self->mutex);
  return borrowed(self->defaultCaptureScope);
}

void CaptureManager::setDefaultCaptureScope(const CaptureScope* scope) {
  auto* self = impl(this);
  if (!self) return;
  std::lock_guard lock(self->mutex);
  self->defaultCaptureScope = Ref(impl(scope));
}

bool CaptureManager::supportsDestination(CaptureDestination destination) {
  return destination == CaptureDestinationGPUTraceDocument;
}

bool CaptureManager::isCapturing() const {
  return state().capturing;
}

void CaptureManager::stopCapture() {
  std::shared_ptr<Trace> capture;
  TraceTarget target;
  {
    std::lock_guard lock(state().mutex);
    state().capturing = false;
    std::swap(capture, state().capture);
    std::swap(target, state().target);
  }
  if (capture) capture->stop();
}

bool CaptureManager::startCapture(const CaptureDescriptor* descriptor, NS::Error** error) {
  const mlxn::Status status = start(impl(descriptor));
  if (status) return true;
  set_error(error, make_error(kCaptureErrorDomain, error_code(status.error().code()),
                              mlxn::str(kCall, ": ", status.error().message())));
  return false;
}

void CaptureManager::startCapture(const Device*) {
  refuse_start();
}
void CaptureManager::startCapture(const CommandQueue*) {
  refuse_start();
}
void CaptureManager::startCapture(const CaptureScope*) {
  refuse_start();
}

}  // namespace MTL
