// Capture manager and scopes. There is no place to capture to yet.
#include <mutex>

#include "metal/rt/command_buffer.h"
#include "metal/rt/validation.h"

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
};

class CaptureManagerObject : public Object {
 public:
  using Api = MTL::CaptureManager;
  std::mutex mutex;
  Ref<CaptureScopeObject> defaultCaptureScope;
};

namespace {

constexpr const char* kNotSupported =
    "MTL::CaptureManager::startCapture: capturing is not supported here; supportsDestination is "
    "false for every destination";

}  // namespace
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
void CaptureScope::beginScope() {}
void CaptureScope::endScope() {}

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

bool CaptureManager::supportsDestination(CaptureDestination) {
  return false;
}
bool CaptureManager::isCapturing() const {
  return false;
}
void CaptureManager::stopCapture() {}

bool CaptureManager::startCapture(const CaptureDescriptor* descriptor, NS::Error** error) {
  const bool complete = descriptor && descriptor->captureObject();
  set_error(error, complete
                       ? make_error(kCaptureErrorDomain, CaptureErrorNotSupported, kNotSupported)
                       : make_error(kCaptureErrorDomain, CaptureErrorInvalidDescriptor,
                                    "MTL::CaptureManager::startCapture: the descriptor has no "
                                    "capture object"));
  return false;
}

void CaptureManager::startCapture(const Device*) {
  mlxn::rt::report("MTL::CaptureManager", kNotSupported);
}
void CaptureManager::startCapture(const CommandQueue*) {
  mlxn::rt::report("MTL::CaptureManager", kNotSupported);
}
void CaptureManager::startCapture(const CaptureScope*) {
  mlxn::rt::report("MTL::CaptureManager", kNotSupported);
}

}  // namespace MTL
