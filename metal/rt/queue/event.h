// Events, fences and listeners.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

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
  Ref<DeviceObject> device;
  Label label;
};

class ListenerObject : public Object {
 public:
  using Api = MTL::SharedEventListener;
  SerialWorker worker;
};

// A value that only grows on the device side. When the command buffer that was to signal a value
// fails, the value is reached all the same, so that nobody waits for ever, but the step from the
// old value to the new one is poisoned: waits of command buffers for it fail with the first error.
class EventObject : public Object {
 public:
  using Api = MTL::Event;

  void signal(uint64_t value);
  void poison(uint64_t value, const std::string& reason);
  // Blocks until the value is reached; the reason when it was poisoned.
  std::optional<std::string> wait(uint64_t value);

  // Around the end of a command buffer whose last steps signal this event: its completed handlers
  // are yet to run, and a host that waits resumes behind them.
  void begin_settling();
  void end_settling();

  Ref<DeviceObject> device;
  Label label;

 protected:
  struct Poison {
    uint64_t after, upto;  // values in (after, upto]
    std::string reason;
  };
  struct Notification {
    uint64_t value;
    Ref<ListenerObject> listener;
    MTL::SharedEventNotificationFunction function;
  };

  const Poison* poison_at(uint64_t value) const;
  void advance(uint64_t value);  // under the lock
  void notify_due();             // under the lock

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t value_ = 0;
  unsigned settling_ = 0;  // command buffers between begin and end
  std::vector<Poison> poisons_;
  std::vector<Notification> notifications_;
};

class SharedEventObject : public EventObject {
 public:
  using Api = MTL::SharedEvent;
  uint64_t value() const;
  void set(uint64_t value);
  // Whether the value was reached in time and not poisoned. Resumes behind the completed handlers
  // of the command buffer that signals it at its end, if they are quick: programs expect that what
  // these hold is free by then, as it nearly always is on a Mac. Nothing depends on it.
  bool wait_for(uint64_t value, uint64_t milliseconds);
  void notify(ListenerObject* listener, uint64_t value,
              const MTL::SharedEventNotificationFunction& function);
};

class EventHandleObject : public Object {
 public:
  using Api = MTL::SharedEventHandle;
  Ref<SharedEventObject> event;
};

}  // namespace mlxn::rt
