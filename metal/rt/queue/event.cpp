#include "metal/rt/queue/event.h"

#include <algorithm>
#include <chrono>

#include "metal/rt/device/validation.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

const EventObject::Poison* EventObject::poison_at(uint64_t value) const {
  for (const Poison& poison : poisons_) {
    if (value > poison.after && value <= poison.upto) return &poison;
  }
  return nullptr;
}

void EventObject::notify_due() {
  for (auto at = notifications_.begin(); at != notifications_.end();) {
    if (at->value > value_) {
      ++at;
      continue;
    }
    auto* shared = static_cast<SharedEventObject*>(this);  // only shared events have notifications
    at->listener->worker.post([event = Ref(shared), function = std::move(at->function),
                               value = value_, listener = at->listener] {
      PoolScope pool;
      function(api(event.get()), value);
    });
    at = notifications_.erase(at);
  }
}

void EventObject::advance(uint64_t value) {
  value_ = std::max(value_, value);
  notify_due();
  changed_.notify_all();
}

void EventObject::signal(uint64_t value) {
  std::lock_guard lock(mutex_);
  advance(value);
}

void EventObject::poison(uint64_t value, const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (value > value_) {
    // Failures in a row extend one record, so that a long-lived event does not collect them.
    if (!poisons_.empty() && poisons_.back().upto == value_) {
      poisons_.back().upto = value;
    } else {
      poisons_.push_back({value_, value, reason});
    }
  }
  advance(value);
}

std::optional<std::string> EventObject::wait(uint64_t value) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return value_ >= value; });
  const Poison* poison = poison_at(value);
  return poison ? std::optional(poison->reason) : std::nullopt;
}

void EventObject::begin_settling() {
  std::lock_guard lock(mutex_);
  ++settling_;
}

void EventObject::end_settling() {
  std::lock_guard lock(mutex_);
  --settling_;
  changed_.notify_all();
}

uint64_t SharedEventObject::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

void SharedEventObject::set(uint64_t value) {
  std::lock_guard lock(mutex_);
  value_ = value;
  std::erase_if(poisons_, [&](const Poison& poison) { return poison.after >= value; });
  advance(value);
}

bool SharedEventObject::wait_for(uint64_t value, uint64_t milliseconds) {
  std::unique_lock lock(mutex_);
  auto reached = [&] { return value_ >= value; };
  // Longer than a year is for ever; the clock's arithmetic must not overflow.
  constexpr uint64_t kYear = 365ull * 24 * 3600 * 1000;
  if (milliseconds >= kYear) {
    changed_.wait(lock, reached);
  } else if (!changed_.wait_for(lock, std::chrono::milliseconds(milliseconds), reached)) {
    return false;
  }
  // A handler may itself wait for the host, so this has an end.
  constexpr uint64_t kPatience = 10;
  changed_.wait_for(lock, std::chrono::milliseconds(std::min(milliseconds, kPatience)),
                    [&] { return settling_ == 0; });
  return poison_at(value) == nullptr;
}

void SharedEventObject::notify(ListenerObject* listener, uint64_t value,
                               const MTL::SharedEventNotificationFunction& function) {
  std::lock_guard lock(mutex_);
  notifications_.push_back({value, Ref(listener), function});
  notify_due();
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
  return self ? self->value() : 0;
}

void SharedEvent::setSignaledValue(uint64_t value) {
  if (auto* self = impl(this)) self->set(value);
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
  if (!device) return nullptr;
  auto object = make<T>();
  object->device = Ref(device);
  return owned(std::move(object));
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
