#pragma once

#include <cstdint>

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Device;
class SharedEvent;

using SharedEventNotificationFunction =
    NS::detail::HandlerFunction<void(SharedEvent* pEvent, uint64_t value)>;

class MLXN_METAL_API Event : public NS::Referencing<Event> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
};

// Runs notifications one after the other on a thread of its own.
class MLXN_METAL_API SharedEventListener : public NS::Referencing<SharedEventListener> {
 public:
  static SharedEventListener* alloc();
  SharedEventListener* init();
  static SharedEventListener* sharedListener();
};

// Names an event of this process.
class MLXN_METAL_API SharedEventHandle : public NS::SecureCoding<SharedEventHandle> {
 public:
  static SharedEventHandle* alloc();
  SharedEventHandle* init();
  NS::String* label() const;
};

class MLXN_METAL_API SharedEvent : public NS::Referencing<SharedEvent, Event> {
 public:
  SharedEventHandle* newSharedEventHandle();
  uint64_t signaledValue() const;
  void setSignaledValue(uint64_t signaledValue);
  // False after a time-out, and at once when the command buffer that was to signal the value
  // failed.
  bool waitUntilSignaledValue(uint64_t value, uint64_t milliseconds);
  void notifyListener(const MTL::SharedEventListener* listener, uint64_t value,
                      const MTL::SharedEventNotificationFunction& function);
#ifdef __BLOCKS__
  void notifyListener(const MTL::SharedEventListener* listener, uint64_t value,
                      void (^block)(SharedEvent* pEvent, uint64_t value));
#endif
};

}  // namespace MTL
