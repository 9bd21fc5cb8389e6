#pragma once

#include <cstdint>

#include "../Foundation/Foundation.hpp"
#include "MTLArgument.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"
#include "MTLTypes.hpp"

typedef struct dispatch_data_s* dispatch_data_t;

namespace MTL {

class ArgumentEncoder;
class Buffer;
class CommandQueue;
class CommandQueueDescriptor;
class CompileOptions;
class ComputePipelineDescriptor;
class ComputePipelineReflection;
class ComputePipelineState;
class CounterSampleBuffer;
class CounterSampleBufferDescriptor;
class Device;
class Event;
class Fence;
class Function;
class Heap;
class HeapDescriptor;
class IndirectCommandBuffer;
class IndirectCommandBufferDescriptor;
class Library;
class ResidencySet;
class ResidencySetDescriptor;
class SharedEvent;
class SharedEventHandle;

enum GPUFamily : NS::Integer {
  GPUFamilyApple1 = 1001,
  GPUFamilyApple2 = 1002,
  GPUFamilyApple3 = 1003,
  GPUFamilyApple4 = 1004,
  GPUFamilyApple5 = 1005,
  GPUFamilyApple6 = 1006,
  GPUFamilyApple7 = 1007,
  GPUFamilyApple8 = 1008,
  GPUFamilyApple9 = 1009,
  GPUFamilyApple10 = 1010,
  GPUFamilyMac1 = 2001,
  GPUFamilyMac2 = 2002,
  GPUFamilyCommon1 = 3001,
  GPUFamilyCommon2 = 3002,
  GPUFamilyCommon3 = 3003,
  GPUFamilyMacCatalyst1 = 4001,
  GPUFamilyMacCatalyst2 = 4002,
  GPUFamilyMetal3 = 5001,
  GPUFamilyMetal4 = 5002,
};

enum DeviceLocation : NS::UInteger {
  DeviceLocationBuiltIn = 0,
  DeviceLocationSlot = 1,
  DeviceLocationExternal = 2,
  DeviceLocationUnspecified = NS::UIntegerMax,
};

enum ReadWriteTextureTier : NS::UInteger {
  ReadWriteTextureTierNone = 0,
  ReadWriteTextureTier1 = 1,
  ReadWriteTextureTier2 = 2,
};

enum ArgumentBuffersTier : NS::UInteger {
  ArgumentBuffersTier1 = 0,
  ArgumentBuffersTier2 = 1,
};

enum CounterSamplingPoint : NS::UInteger {
  CounterSamplingPointAtStageBoundary = 0,
  CounterSamplingPointAtDrawBoundary = 1,
  CounterSamplingPointAtDispatchBoundary = 2,
  CounterSamplingPointAtTileDispatchBoundary = 3,
  CounterSamplingPointAtBlitBoundary = 4,
};

using PipelineOption = NS::UInteger;
enum : PipelineOption {
  PipelineOptionNone = 0,
  PipelineOptionArgumentInfo = 1,
  PipelineOptionBindingInfo = 1,
  PipelineOptionBufferTypeInfo = 1 << 1,
  PipelineOptionFailOnBinaryArchiveMiss = 1 << 2,
};

using Timestamp = std::uint64_t;
using AutoreleasedComputePipelineReflection = MTL::ComputePipelineReflection*;
using NewLibraryCompletionHandlerFunction =
    NS::detail::HandlerFunction<void(MTL::Library*, NS::Error*)>;
using NewComputePipelineStateCompletionHandlerFunction =
    NS::detail::HandlerFunction<void(MTL::ComputePipelineState*, NS::Error*)>;
using NewComputePipelineStateWithReflectionCompletionHandlerFunction =
    NS::detail::HandlerFunction<void(MTL::ComputePipelineState*, MTL::ComputePipelineReflection*,
                                     NS::Error*)>;
#ifdef __BLOCKS__
using NewLibraryCompletionHandler = void (^)(MTL::Library*, NS::Error*);
using NewComputePipelineStateCompletionHandler = void (^)(MTL::ComputePipelineState*, NS::Error*);
using NewComputePipelineStateWithReflectionCompletionHandler =
    void (^)(MTL::ComputePipelineState*, MTL::ComputePipelineReflection*, NS::Error*);
#endif

extern MLXN_METAL_API NS::ErrorUserInfoKey const CommandBufferEncoderInfoErrorKey;

// The default device is one shared object, chosen by the setting `executor`; null (with a log
// entry) when that executor cannot start. Both functions give the caller a reference.
MLXN_METAL_API Device* CreateSystemDefaultDevice();
MLXN_METAL_API NS::Array* CopyAllDevices();

struct SizeAndAlign {
  NS::UInteger size;
  NS::UInteger align;
} MLXN_METAL_PACKED;

class MLXN_METAL_API ArgumentDescriptor : public NS::Copying<ArgumentDescriptor> {
 public:
  static ArgumentDescriptor* argumentDescriptor();
  static ArgumentDescriptor* alloc();
  ArgumentDescriptor* init();
  DataType dataType() const;
  void setDataType(MTL::DataType dataType);
  NS::UInteger index() const;
  void setIndex(NS::UInteger index);
  NS::UInteger arrayLength() const;
  void setArrayLength(NS::UInteger arrayLength);
  BindingAccess access() const;
  void setAccess(MTL::BindingAccess access);
  NS::UInteger constantBlockAlignment() const;
  void setConstantBlockAlignment(NS::UInteger constantBlockAlignment);
};

class MLXN_METAL_API Architecture : public NS::Copying<Architecture> {
 public:
  static Architecture* alloc();
  Architecture* init();
  NS::String* name() const;
};

// Thread-safe.
class MLXN_METAL_API Device : public NS::Referencing<Device> {
 public:
  NS::String* name() const;
  uint64_t registryID() const;
  Architecture* architecture() const;
  DeviceLocation location() const;
  NS::UInteger locationNumber() const;
  uint64_t maxTransferRate() const;
  bool isLowPower() const;
  bool isHeadless() const;
  bool isRemovable() const;
  bool hasUnifiedMemory() const;
  [[deprecated("please use isLowPower instead")]] bool lowPower() const;
  [[deprecated("please use isHeadless instead")]] bool headless() const;
  [[deprecated("please use isRemovable instead")]] bool removable() const;
  uint64_t peerGroupID() const;
  uint32_t peerIndex() const;
  uint32_t peerCount() const;

  bool supportsFamily(MTL::GPUFamily gpuFamily);
  bool supportsCounterSampling(MTL::CounterSamplingPoint samplingPoint);
  bool supportsDynamicLibraries() const;
  bool supportsFunctionPointers() const;
  bool supportsRaytracing() const;
  ArgumentBuffersTier argumentBuffersSupport() const;
  ReadWriteTextureTier readWriteTextureSupport() const;

  uint64_t recommendedMaxWorkingSetSize() const;
  NS::UInteger currentAllocatedSize() const;
  NS::UInteger maxBufferLength() const;
  NS::UInteger maxThreadgroupMemoryLength() const;
  Size maxThreadsPerThreadgroup() const;
  SizeAndAlign heapBufferSizeAndAlign(NS::UInteger length, MTL::ResourceOptions options);

  // Both times are nanoseconds of one clock.
  void sampleTimestamps(MTL::Timestamp* cpuTimestamp, MTL::Timestamp* gpuTimestamp);
  uint64_t queryTimestampFrequency();
  NS::Array* counterSets() const;
  CounterSampleBuffer* newCounterSampleBuffer(const MTL::CounterSampleBufferDescriptor* descriptor,
                                              NS::Error** error);

  Buffer* newBuffer(NS::UInteger length, MTL::ResourceOptions options);
  Buffer* newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options);
  // Uses the caller's memory without a copy. The deallocator runs when neither the buffer nor a
  // command buffer uses the memory any more; it may be null. The std::function form is ours; Apple
  // has blocks only.
  Buffer* newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options,
                    const NS::detail::HandlerFunction<void(void*, NS::UInteger)>& deallocator);
  Heap* newHeap(const MTL::HeapDescriptor* descriptor);
  IndirectCommandBuffer* newIndirectCommandBuffer(
      const MTL::IndirectCommandBufferDescriptor* descriptor, NS::UInteger maxCount,
      MTL::ResourceOptions options);
  ResidencySet* newResidencySet(const MTL::ResidencySetDescriptor* desc, NS::Error** error);

  CommandQueue* newCommandQueue();
  CommandQueue* newCommandQueue(NS::UInteger maxCommandBufferCount);
  CommandQueue* newCommandQueue(const MTL::CommandQueueDescriptor* descriptor);
  Event* newEvent();
  SharedEvent* newSharedEvent();
  SharedEvent* newSharedEvent(const MTL::SharedEventHandle* sharedEventHandle);
  Fence* newFence();

  ArgumentEncoder* newArgumentEncoder(const NS::Array* arguments);
  ArgumentEncoder* newArgumentEncoder(const MTL::BufferBinding* bufferBinding);

  // Files hold MSL text, or a library made by the tools metal and metallib or by
  // mlxn::metal::serialize_library; data holds such a library.
  Library* newDefaultLibrary();
  Library* newLibrary(const NS::String* filepath, NS::Error** error);
  Library* newLibrary(const NS::URL* url, NS::Error** error);
  Library* newLibrary(dispatch_data_t data, NS::Error** error);
  Library* newLibrary(const NS::String* source, const MTL::CompileOptions* options,
                      NS::Error** error);
  void newLibrary(const NS::String* source, const MTL::CompileOptions* options,
                  const MTL::NewLibraryCompletionHandlerFunction& completionHandler);

  ComputePipelineState* newComputePipelineState(const MTL::Function* computeFunction,
                                                NS::Error** error);
  ComputePipelineState* newComputePipelineState(
      const MTL::Function* computeFunction, MTL::PipelineOption options,
      const MTL::AutoreleasedComputePipelineReflection* reflection, NS::Error** error);
  ComputePipelineState* newComputePipelineState(
      const MTL::ComputePipelineDescriptor* descriptor, MTL::PipelineOption options,
      const MTL::AutoreleasedComputePipelineReflection* reflection, NS::Error** error);
  void newComputePipelineState(
      const MTL::Function* computeFunction,
      const MTL::NewComputePipelineStateCompletionHandlerFunction& completionHandler);
  void newComputePipelineState(
      const MTL::Function* computeFunction, MTL::PipelineOption options,
      const MTL::NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler);
  void newComputePipelineState(
      const MTL::ComputePipelineDescriptor* descriptor, MTL::PipelineOption options,
      const MTL::NewComputePipelineStateWithReflectionCompletionHandlerFunction& completionHandler);

  bool shouldMaximizeConcurrentCompilation() const;
  void setShouldMaximizeConcurrentCompilation(bool shouldMaximizeConcurrentCompilation);
  NS::UInteger maximumConcurrentCompilationTaskCount() const;

#ifdef __BLOCKS__
  Buffer* newBuffer(const void* pointer, NS::UInteger length, MTL::ResourceOptions options,
                    void (^deallocator)(void*, NS::UInteger));
  void newLibrary(const NS::String* source, const MTL::CompileOptions* options,
                  const MTL::NewLibraryCompletionHandler completionHandler);
  void newComputePipelineState(
      const MTL::Function* computeFunction,
      const MTL::NewComputePipelineStateCompletionHandler completionHandler);
  void newComputePipelineState(
      const MTL::Function* computeFunction, MTL::PipelineOption options,
      const MTL::NewComputePipelineStateWithReflectionCompletionHandler completionHandler);
  void newComputePipelineState(
      const MTL::ComputePipelineDescriptor* descriptor, MTL::PipelineOption options,
      const MTL::NewComputePipelineStateWithReflectionCompletionHandler completionHandler);
#endif
};

}  // namespace MTL
