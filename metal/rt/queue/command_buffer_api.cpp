// The public face of MTL::CommandBuffer, its descriptor and encoder infos.
#include "metal/rt/encode/blit_encoder.h"
#include "metal/rt/encode/compute_encoder.h"
#include "metal/rt/queue/command_buffer.h"
#include "mlxn/base/strings.h"

namespace MTL {

using namespace mlxn::rt;

NS::ErrorUserInfoKey const CommandBufferEncoderInfoErrorKey =
    NS::detail::constantString("MTLCommandBufferEncoderInfoErrorKey");

MLXN_ALLOC(CommandBufferDescriptor)
MLXN_VALUE(CommandBufferDescriptor, bool, retainedReferences, setRetainedReferences)
MLXN_VALUE(CommandBufferDescriptor, CommandBufferErrorOption, errorOptions, setErrorOptions)

MLXN_LABEL_GETTER(CommandBufferEncoderInfo, label)
MLXN_OBJECT_GETTER(CommandBufferEncoderInfo, NS::Array, debugSignposts)
MLXN_GETTER(CommandBufferEncoderInfo, CommandEncoderErrorState, errorState)

MLXN_OBJECT_GETTER(CommandBuffer, CommandQueue, commandQueue)
MLXN_LABEL(CommandBuffer, label, setLabel)
MLXN_GETTER(CommandBuffer, bool, retainedReferences)
MLXN_GETTER(CommandBuffer, CommandBufferErrorOption, errorOptions)
MLXN_GETTER(CommandBuffer, CFTimeInterval, GPUStartTime)
MLXN_GETTER(CommandBuffer, CFTimeInterval, GPUEndTime)
MLXN_GETTER(CommandBuffer, CFTimeInterval, kernelStartTime)
MLXN_GETTER(CommandBuffer, CFTimeInterval, kernelEndTime)

Device* CommandBuffer::device() const {
  auto* self = impl(this);
  return self ? api(&self->device()) : nullptr;
}

static ComputeCommandEncoder* begin_compute(CommandBufferObject* self, DispatchType type,
                                            std::vector<PassAttachment> attachments) {
  if (!self || !self->can_encode("MTL::CommandBuffer::computeCommandEncoder")) return nullptr;
  if (type != DispatchTypeSerial && type != DispatchTypeConcurrent) {
    self->violation("MTL::CommandBuffer::computeCommandEncoder",
                    mlxn::str("dispatch type ", static_cast<NS::UInteger>(type),
                              ", expected Serial (0) or Concurrent (1)"));
    type = DispatchTypeSerial;
  }
  return autoreleased(make<ComputeEncoderObject>(self, type, std::move(attachments)));
}

ComputeCommandEncoder* CommandBuffer::computeCommandEncoder() {
  return begin_compute(impl(this), DispatchTypeSerial, {});
}

ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(DispatchType dispatchType) {
  return begin_compute(impl(this), dispatchType, {});
}

ComputeCommandEncoder* CommandBuffer::computeCommandEncoder(
    const ComputePassDescriptor* descriptor) {
  auto* pass = impl(descriptor);
  if (!pass) return computeCommandEncoder();
  return begin_compute(impl(this), pass->dispatchType, pass->attachments());
}

BlitCommandEncoder* CommandBuffer::blitCommandEncoder() {
  return blitCommandEncoder(nullptr);
}

BlitCommandEncoder* CommandBuffer::blitCommandEncoder(const BlitPassDescriptor* descriptor) {
  auto* self = impl(this);
  if (!self || !self->can_encode("MTL::CommandBuffer::blitCommandEncoder")) return nullptr;
  auto attachments = descriptor ? impl(descriptor)->attachments() : std::vector<PassAttachment>();
  return autoreleased(make<BlitEncoderObject>(self, std::move(attachments)));
}

void CommandBuffer::encodeSignalEvent(const Event* event, uint64_t value) {
  if (auto* self = impl(this)) self->encode_signal(impl(event), value);
}

void CommandBuffer::encodeWait(const Event* event, uint64_t value) {
  if (auto* self = impl(this)) self->encode_wait(impl(event), value);
}

void CommandBuffer::pushDebugGroup(const NS::String*) {
  if (auto* self = impl(this)) ++self->debug_depth;
}

void CommandBuffer::popDebugGroup() {
  auto* self = impl(this);
  if (!self) return;
  if (self->debug_depth == 0) {
    return self->misuse("MTL::CommandBuffer::popDebugGroup", "no debug group is open");
  }
  --self->debug_depth;
}

void CommandBuffer::useResidencySet(const ResidencySet* set) {
  useResidencySets(&set, 1);
}

void CommandBuffer::useResidencySets(const ResidencySet* const sets[], NS::UInteger count) {
  if (auto* self = impl(this)) {
    self->residency.add("MTL::CommandBuffer::useResidencySets", sets, count);
  }
}

void CommandBuffer::addScheduledHandler(const HandlerFunction& function) {
  if (auto* self = impl(this)) {
    self->add_handler("MTL::CommandBuffer::addScheduledHandler",
                      &CommandBufferObject::scheduled_handlers, function);
  }
}

void CommandBuffer::addCompletedHandler(const HandlerFunction& function) {
  if (auto* self = impl(this)) {
    self->add_handler("MTL::CommandBuffer::addCompletedHandler",
                      &CommandBufferObject::completed_handlers, function);
  }
}

void CommandBuffer::enqueue() {
  if (auto* self = impl(this)) self->enqueue();
}

void CommandBuffer::commit() {
  if (auto* self = impl(this)) self->commit();
}

void CommandBuffer::waitUntilScheduled() {
  if (auto* self = impl(this)) {
    self->wait_until(CommandBufferStatusScheduled, "MTL::CommandBuffer::waitUntilScheduled");
  }
}

void CommandBuffer::waitUntilCompleted() {
  if (auto* self = impl(this)) {
    self->wait_until(CommandBufferStatusCompleted, "MTL::CommandBuffer::waitUntilCompleted");
  }
}

CommandBufferStatus CommandBuffer::status() const {
  auto* self = impl(this);
  return self ? self->current_status() : CommandBufferStatusNotEnqueued;
}

NS::Error* CommandBuffer::error() const {
  auto* self = impl(this);
  return self ? borrowed(self->current_error()) : nullptr;
}

}  // namespace MTL
