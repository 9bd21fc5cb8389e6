// Events, fences and listeners.
#pragma once

#include <condition_variable>
#include <mutex>

#include "metal/rt/device/device.h"
#include "metal/rt/foundation/property.h"
#include "metal/rt/queue/serial_worker.h"

MLXN_RT_OBJECT(MTL::Event, EventObject)
MLXN_RT_OBJECT(MTL::SharedEvent, SharedEventObject)
MLXN_RT_OBJECT(MTL::SharedEventListener, ListenerObject)
MLXN_RT_OBJECT(MTL::SharedEventHandle, EventHandleObject)
MLXN_RT_OBJECT(MTL::Fence, FenceObject)

namespace mlxn::rt {

class FenceObject : public Object {
 public:
  using Api = MTL::Fence;
  explicit FenceObject(DeviceObject* owner) : device(owner) {}

  const Ref<DeviceObject> device;
  Label label;
};

class ListenerObject : public Object {
 public:
  using Api = MTL::SharedEventListener;
  SerialWorker worker;
};

// An event of the device's executor; see rt::Event.
class EventObject : public Object {
 public:
  using Api = MTL::Event;
  explicit EventObject(DeviceObject* owner)
      : device(owner), event(owner->executor().create_event()) {}

  // Around the life of a submission whose last steps signal the event with this value.
  virtual void begin_settling(uint64_t) {}
  virtual void end_settling(uint64_t) {}

  const Ref<DeviceObject> device;
  Label label;
  const std::unique_ptr<Event> event;
};

class SharedEventObject : public EventObject {
 public:
  using Api = MTL::SharedEvent;
  using EventObject::EventObject;

  // Whether the value was reached in time and not poisoned. Resumes behind the completed handlers
  // of the command buffer that signals it at its end, if they are quick: programs expect that what
  // these hold is free by then, as it nearly always is on a Mac. Nothing depends on it.
  bool wait_for(uint64_t value, uint64_t milliseconds);
  void notify(ListenerObject* listener, uint64_t value,
              const MTL::SharedEventNotificationFunction& function);

  void begin_settling(uint64_t value) override;
  void end_settling(uint64_t value) override;

 private:
  std::mutex mutex_;
  std::condition_variable settled_;
  std::vector<uint64_t> settling_;  // values of command buffers between begin and end
};

class EventHandleObject : public Object {
 public:
  using Api = MTL::SharedEventHandle;
  Ref<SharedEventObject> event;
};

}  // namespace mlxn::rt
