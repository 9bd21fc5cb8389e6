#pragma once

// The block forms of functions that take a handler, for callers compiled with -fblocks. They turn
// the block into the std::function form here, in the caller; the program links the blocks runtime
// itself.
#ifdef __BLOCKS__

#include <memory>

#include "MTLCommandBuffer.hpp"
#include "MTLDevice.hpp"
#include "MTLEvent.hpp"
#include "MTLLibrary.hpp"

extern "C" void* _Block_copy(const void*);
extern "C" void _Block_release(const void*);

namespace MTL {
namespace detail {

template <class _Function, class _Block>
_Function functionFromBlock(_Block block) {
  if (!block) return nullptr;
  std::shared_ptr<void> copy(_Block_copy((const void*)block), _Block_release);
  return [copy](auto... arguments) { ((_Block)copy.get())(arguments...); };
}

}  // namespace detail

inline void CommandBuffer::addScheduledHandler(void (^block)(CommandBuffer*)) {
  addScheduledHandler(detail::functionFromBlock<HandlerFunction>(block));
}
inline void CommandBuffer::addCompletedHandler(void (^block)(CommandBuffer*)) {
  addCompletedHandler(detail::functionFromBlock<HandlerFunction>(block));
}
inline void SharedEvent::notifyListener(const SharedEventListener* listener, uint64_t value,
                                        void (^block)(SharedEvent*, uint64_t)) {
  notifyListener(listener, value,
                 detail::functionFromBlock<SharedEventNotificationFunction>(block));
}
inline void Library::newFunction(const NS::String* name, const FunctionConstantValues* values,
                                 void (^handler)(Function*, NS::Error*)) {
  newFunction(name, values, detail::functionFromBlock<FunctionCompletionHandlerFunction>(handler));
}
inline void Library::newFunction(const FunctionDescriptor* descriptor,
                                 void (^handler)(Function*, NS::Error*)) {
  newFunction(descriptor, detail::functionFromBlock<FunctionCompletionHandlerFunction>(handler));
}
inline Buffer* Device::newBuffer(const void* pointer, NS::UInteger length, ResourceOptions options,
                                 void (^deallocator)(void*, NS::UInteger)) {
  using Deallocator = NS::detail::HandlerFunction<void(void*, NS::UInteger)>;
  return newBuffer(pointer, length, options, detail::functionFromBlock<Deallocator>(deallocator));
}
inline void Device::newLibrary(const NS::String* source, const CompileOptions* options,
                               const NewLibraryCompletionHandler handler) {
  newLibrary(source, options,
             detail::functionFromBlock<NewLibraryCompletionHandlerFunction>(handler));
}
inline void Device::newComputePipelineState(
    const Function* function, const NewComputePipelineStateCompletionHandler handler) {
  newComputePipelineState(
      function,
      detail::functionFromBlock<NewComputePipelineStateCompletionHandlerFunction>(handler));
}
inline void Device::newComputePipelineState(
    const Function* function, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandler handler) {
  using Handler = NewComputePipelineStateWithReflectionCompletionHandlerFunction;
  newComputePipelineState(function, options, detail::functionFromBlock<Handler>(handler));
}
inline void Device::newComputePipelineState(
    const ComputePipelineDescriptor* descriptor, PipelineOption options,
    const NewComputePipelineStateWithReflectionCompletionHandler handler) {
  using Handler = NewComputePipelineStateWithReflectionCompletionHandlerFunction;
  newComputePipelineState(descriptor, options, detail::functionFromBlock<Handler>(handler));
}

}  // namespace MTL

#endif
