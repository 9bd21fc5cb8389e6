#include "metal/rt/queue/event.h"

#include <algorithm>
#include <chrono>

#include "metal/rt/device/validation.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

bool SharedEventObject::wait_for(uint64_t value, uint64_t milliseconds) {
  // Longer than a year is for ever; the clock's arithmetic must not overflow.
  constexpr uint64_t kYear = 365ull * 24 * 3600 * 1000;
  std::optional<std::chrono::milliseconds> limit;
  if (milliseconds < kYear) limit = std::chrono::milliseconds(milliseconds);
  if (!event->wait(value, limit)) return false;
  // A handler may itself wait for the host, so this has an end.
  constexpr uint64_t kPatience = 10;
  std::unique_lock lock(mutex_);
  settled_.wait_for(lock, std::chrono::milliseconds(std::min(milliseconds, kPatience)), [&] {
    return std::ranges::none_of(settling_, [&](uint64_t one) { return one <= value; });
  });
  return !event->poison_at(value);
}

void SharedEventObject::notify(ListenerObject* listener, uint64_t value,
                               const MTL::SharedEventNotificationFunction& function) {
  // Whoever brings the event to the value holds it, so that it can be retained then.
  event->notify(value, [this, listener = Ref(listener), function](uint64_t now) {
    listener->worker.post([event = Ref(this), listener, function, now] {
      PoolScope pool;
      function(api(event.get()), now);
    });
  });
}

void SharedEventObject::begin_settling(uint64_t value) {
  std::lock_guard lock(mutex_);
  settling_.push_back(value);
}

void SharedEventObject::end_settling(uint64_t value) {
  std::lock_guard lock(mutex_);
  settling_.erase(std::ranges::find(settling_, value));
  settled_.notify_all();
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_OBJECT_GETTER(Fence, Device, device)
MLXN_LABEL(Fence, label, setLabel)
MLXN_OBJECT_GETTER(Event, Device, device)
MLXN_LABEL(Event, label, setLabel)
MLXN_ALLOC(SharedEventListener)
MLXN_ALLOC(SharedEventHandle)

SharedEventListener* SharedEventListener::sharedListener() {
  static auto* listener = new ListenerObject;
  return api(listener);
}

NS::String* SharedEventHandle::label() const {
  auto* self = impl(this);
  return self && self->event ? borrowed(self->event->label.get()) : nullptr;
}

SharedEventHandle* SharedEvent::newSharedEventHandle() {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto handle = make<EventHandleObject>();
  handle->event = Ref(self);
  return owned(std::move(handle));
}

uint64_t SharedEvent::signaledValue() const {
  auto* self = impl(this);
  return self ? self->event->value() : 0;
}

void SharedEvent::setSignaledValue(uint64_t value) {
  if (auto* self = impl(this)) self->event->set(value);
}

bool SharedEvent::waitUntilSignaledValue(uint64_t value, uint64_t milliseconds) {
  auto* self = impl(this);
  return self && self->wait_for(value, milliseconds);
}

void SharedEvent::notifyListener(const SharedEventListener* listener, uint64_t value,
                                 const SharedEventNotificationFunction& function) {
  auto* self = impl(this);
  if (!self) return;
  if (!listener || !function) {
    report("MTL::SharedEvent::notifyListener", "null listener or function, expected both");
    return;
  }
  self->notify(impl(listener), value, function);
}

template <class T>
static typename T::Api* create(DeviceObject* device) {
  return device ? owned(make<T>(device)) : nullptr;
}

Event* Device::newEvent() {
  return create<EventObject>(impl(this));
}
SharedEvent* Device::newSharedEvent() {
  return create<SharedEventObject>(impl(this));
}
Fence* Device::newFence() {
  return create<FenceObject>(impl(this));
}

SharedEvent* Device::newSharedEvent(const SharedEventHandle* handle) {
  auto* source = impl(handle);
  if (source && source->event) return owned(source->event);
  report("MTL::Device::newSharedEvent", "the handle names no event");
  return nullptr;
}

}  // namespace MTL
