#pragma once

#include <cstdint>

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class BlitCommandEncoder;
class BlitPassDescriptor;
class CommandBuffer;
class CommandQueue;
class ComputeCommandEncoder;
class ComputePassDescriptor;
class Device;
class Event;
class ResidencySet;

enum CommandBufferStatus : NS::UInteger {
  CommandBufferStatusNotEnqueued = 0,
  CommandBufferStatusEnqueued = 1,
  CommandBufferStatusCommitted = 2,
  CommandBufferStatusScheduled = 3,
  CommandBufferStatusCompleted = 4,
  CommandBufferStatusError = 5,
};

enum CommandBufferError : NS::UInteger {
  CommandBufferErrorNone = 0,
  CommandBufferErrorInternal = 1,
  CommandBufferErrorTimeout = 2,
  CommandBufferErrorPageFault = 3,
  CommandBufferErrorBlacklisted = 4,
  CommandBufferErrorAccessRevoked = 4,
  CommandBufferErrorNotPermitted = 7,
  CommandBufferErrorOutOfMemory = 8,
  CommandBufferErrorInvalidResource = 9,
  CommandBufferErrorMemoryless = 10,
  CommandBufferErrorDeviceRemoved = 11,
  CommandBufferErrorStackOverflow = 12,
};

enum CommandEncoderErrorState : NS::Integer {
  CommandEncoderErrorStateUnknown = 0,
  CommandEncoderErrorStateCompleted = 1,
  CommandEncoderErrorStateAffected = 2,
  CommandEncoderErrorStatePending = 3,
  CommandEncoderErrorStateFaulted = 4,
};

enum DispatchType : NS::UInteger {
  DispatchTypeSerial = 0,
  DispatchTypeConcurrent = 1,
};

using CommandBufferErrorOption = NS::UInteger;
enum : CommandBufferErrorOption {
  CommandBufferErrorOptionNone = 0,
  CommandBufferErrorOptionEncoderExecutionStatus = 1,
};

using HandlerFunction = NS::detail::HandlerFunction<void(CommandBuffer*)>;

class MLXN_METAL_API CommandBufferDescriptor : public NS::Copying<CommandBufferDescriptor> {
 public:
  static CommandBufferDescriptor* alloc();
  CommandBufferDescriptor* init();

  bool retainedReferences() const;
  void setRetainedReferences(bool retainedReferences);
  CommandBufferErrorOption errorOptions() const;
  void setErrorOptions(MTL::CommandBufferErrorOption errorOptions);
};

// Entries of the error's userInfo under CommandBufferEncoderInfoErrorKey, when errorOptions asks.
class MLXN_METAL_API CommandBufferEncoderInfo : public NS::Referencing<CommandBufferEncoderInfo> {
 public:
  NS::String* label() const;
  NS::Array* debugSignposts() const;
  CommandEncoderErrorState errorState() const;
};

// Encoding is for one thread at a time. A wrong call is reported at once (log and validation
// handler) and makes the buffer finish with status Error; nothing of such a buffer runs.
class MLXN_METAL_API CommandBuffer : public NS::Referencing<CommandBuffer> {
 public:
  Device* device() const;
  CommandQueue* commandQueue() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
  bool retainedReferences() const;
  CommandBufferErrorOption errorOptions() const;

  ComputeCommandEncoder* computeCommandEncoder();
  ComputeCommandEncoder* computeCommandEncoder(MTL::DispatchType dispatchType);
  ComputeCommandEncoder* computeCommandEncoder(const MTL::ComputePassDescriptor* descriptor);
  BlitCommandEncoder* blitCommandEncoder();
  BlitCommandEncoder* blitCommandEncoder(const MTL::BlitPassDescriptor* descriptor);

  void encodeSignalEvent(const MTL::Event* event, uint64_t value);
  void encodeWait(const MTL::Event* event, uint64_t value);
  void pushDebugGroup(const NS::String* string);
  void popDebugGroup();
  void useResidencySet(const MTL::ResidencySet* residencySet);
  void useResidencySets(const MTL::ResidencySet* const residencySets[], NS::UInteger count);

  // Handlers run on the queue's thread, in the order added.
  void addScheduledHandler(const MTL::HandlerFunction& function);
  void addCompletedHandler(const MTL::HandlerFunction& function);
#ifdef __BLOCKS__
  void addScheduledHandler(void (^block)(CommandBuffer*));
  void addCompletedHandler(void (^block)(CommandBuffer*));
#endif

  void enqueue();
  void commit();
  void waitUntilScheduled();
  void waitUntilCompleted();
  CommandBufferStatus status() const;
  NS::Error* error() const;

  // Seconds on the device's clock (GPU) and on the host's (kernel); 0 before they are known.
  CFTimeInterval GPUStartTime() const;
  CFTimeInterval GPUEndTime() const;
  CFTimeInterval kernelStartTime() const;
  CFTimeInterval kernelEndTime() const;
};

}  // namespace MTL
