#include "metal/rt/encode/indirect_buffer.h"

#include <algorithm>

#include "metal/rt/device/validation.h"
#include "mlxn/base/checked.h"

namespace mlxn::rt {
namespace {

using Finding = IndirectCommands::Finding;

constexpr uint64_t kMostCommands = uint64_t{1} << 20;
constexpr MTL::IndirectCommandType kDispatchTypes =
    MTL::IndirectCommandTypeConcurrentDispatch | MTL::IndirectCommandTypeConcurrentDispatchThreads;

Finding wrong_index(uint64_t index, uint64_t most) {
  return {str("index ", index, ", expected less than ", most)};
}

Status check(const DeviceObject& device, const IndirectDescriptorObject* descriptor, uint64_t count,
             MTL::ResourceOptions options) {
  auto invalid = [](std::string text) {
    return Error(ErrorCode::kInvalidArgument, std::move(text));
  };
  if (!descriptor) return invalid("null descriptor, expected one");
  const MTL::IndirectCommandType types = descriptor->commandTypes;
  if ((types & ~kDispatchTypes) != 0 || (types == 0 && device.validates())) {
    return invalid(str("command types ", types, ", expected ConcurrentDispatch (32), ",
                       "ConcurrentDispatchThreads (64) or both"));
  }
  if (count == 0 || count > kMostCommands) {
    return invalid(str(count, " commands, expected 1 to ", kMostCommands));
  }
  for (uint64_t most :
       {descriptor->maxKernelBufferBindCount, descriptor->maxKernelThreadgroupMemoryBindCount}) {
    if (most <= MSL_MAX_BUFFERS || !device.validates()) continue;
    return invalid(str("bind count ", most, ", expected at most ", MSL_MAX_BUFFERS));
  }
  return check_options(options);
}

}  // namespace

void IndirectCommandObject::set_pipeline(PipelineObject* pipeline) {
  Ref<PipelineObject> state(pipeline);  // then the one before
  commands_.change(index_, "setComputePipelineState", [&](IndirectCommand& command) -> Finding {
    if (commands_.options.inherits_pipeline) return {"the pipeline is inherited"};
    if (pipeline && pipeline->device.get() != owner_->device.get()) {
      return {"the pipeline state belongs to another device", true};
    }
    std::swap(command.pipeline, state);
    if (!pipeline) return {"null pipeline state, expected one"};
    if (pipeline->for_indirect) return {};
    return {"the pipeline was made without supportIndirectCommandBuffers"};
  });
}

void IndirectCommandObject::set_buffer(BufferObject* buffer, uint64_t offset, uint64_t index) {
  IndirectCommand::Bound bound;  // then the one before
  if (buffer) {
    const BufferSlot slot{buffer->memory.get(), buffer->offset, offset, buffer->length};
    bound = {static_cast<uint32_t>(index), slot, buffer->life};
  }
  commands_.change(index_, "setKernelBuffer", [&](IndirectCommand& command) -> Finding {
    if (commands_.options.inherits_buffers) return {"buffers are inherited"};
    const uint64_t most = commands_.options.most_buffers;
    if (index >= MSL_MAX_BUFFERS) return wrong_index(index, most);
    if (buffer && buffer->device.get() != owner_->device.get()) {
      return {"the buffer belongs to another device", true};
    }
    if (buffer && offset > buffer->length) {
      return {str("offset ", offset, ", expected at most the buffer's length ", buffer->length),
              true};
    }
    const auto at = std::ranges::find(command.buffers, index, &IndirectCommand::Bound::index);
    if (at != command.buffers.end()) {
      std::swap(*at, bound);
      if (!buffer) command.buffers.erase(at);
    } else if (buffer) {
      command.buffers.push_back(std::move(bound));
    }
    return index < most ? Finding() : wrong_index(index, most);
  });
}

void IndirectCommandObject::set_threadgroup_memory(uint64_t length, uint64_t index) {
  constexpr const char* kCall = "setThreadgroupMemoryLength";
  commands_.change(index_, kCall, [&](IndirectCommand& command) -> Finding {
    const uint64_t most = commands_.options.most_threadgroup_buffers;
    if (index >= command.threadgroup_bytes.size()) return wrong_index(index, most);
    if (length > commands_.most_threadgroup_bytes) {
      return {str("length ", length, ", expected at most ", commands_.most_threadgroup_bytes),
              true};
    }
    command.threadgroup_bytes[index] = aligned(length, kThreadgroupGranule);
    if (index >= most) return wrong_index(index, most);
    if (length % kThreadgroupGranule == 0) return {};
    return {str("length ", length, ", expected a multiple of ", kThreadgroupGranule)};
  });
}

void IndirectCommandObject::dispatch(const char* call, IndirectCommand::Kind kind,
                                     const Size3& size, const Size3& group) {
  commands_.change(index_, call, [&](IndirectCommand& command) -> Finding {
    command.kind = kind;
    command.size = size;
    command.group = group;
    const auto needed = kind == IndirectCommand::Kind::kThreads
                            ? MTL::IndirectCommandTypeConcurrentDispatchThreads
                            : MTL::IndirectCommandTypeConcurrentDispatch;
    if (commands_.options.types & needed) return {};
    return {str("not among the command types ", commands_.options.types, " of the buffer")};
  });
}

void IndirectCommandObject::set_barrier(bool barrier) {
  commands_.change(index_, "setBarrier", [&](IndirectCommand& command) -> Finding {
    command.barrier = barrier;
    return {};
  });
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

namespace {
Size3 to_size3(Size size) {
  return {size.width, size.height, size.depth};
}
}  // namespace

MLXN_ALLOC(IndirectCommandBufferDescriptor)
MLXN_VALUE(IndirectCommandBufferDescriptor, IndirectCommandType, commandTypes, setCommandTypes)
MLXN_VALUE(IndirectCommandBufferDescriptor, bool, inheritPipelineState, setInheritPipelineState)
MLXN_VALUE(IndirectCommandBufferDescriptor, bool, inheritBuffers, setInheritBuffers)
MLXN_VALUE(IndirectCommandBufferDescriptor, NS::UInteger, maxKernelBufferBindCount,
           setMaxKernelBufferBindCount)
MLXN_VALUE(IndirectCommandBufferDescriptor, NS::UInteger, maxKernelThreadgroupMemoryBindCount,
           setMaxKernelThreadgroupMemoryBindCount)

IndirectCommandBuffer* Device::newIndirectCommandBuffer(
    const IndirectCommandBufferDescriptor* descriptor, NS::UInteger maxCount,
    ResourceOptions options) {
  auto* self = impl(this);
  if (!self) return nullptr;
  const auto* wanted = impl(descriptor);
  if (auto status = check(*self, wanted, maxCount, options); !status) {
    report("MTL::Device::newIndirectCommandBuffer", status.error().message());
    return nullptr;
  }
  auto buffer = make<IndirectBufferObject>();
  buffer->device = Ref(self);
  buffer->resourceOptions = options;
  const IndirectOptions made{
      .types = wanted->commandTypes,
      .inherits_pipeline = wanted->inheritPipelineState,
      .inherits_buffers = wanted->inheritBuffers,
      .most_buffers = wanted->maxKernelBufferBindCount,
      .most_threadgroup_buffers = wanted->maxKernelThreadgroupMemoryBindCount};
  buffer->commands = std::make_shared<IndirectCommands>(*self, made, maxCount);
  buffer->life->storage = buffer->commands;
  return owned(std::move(buffer));
}

NS::UInteger IndirectCommandBuffer::size() const {
  auto* self = impl(this);
  return self ? self->commands->size() : 0;
}

ResourceID IndirectCommandBuffer::gpuResourceID() const {
  return {reinterpret_cast<uintptr_t>(this)};
}

IndirectComputeCommand* IndirectCommandBuffer::indirectComputeCommand(NS::UInteger commandIndex) {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (commandIndex < self->commands->size()) {
    return autoreleased(make<IndirectCommandObject>(self, commandIndex));
  }
  report("MTL::IndirectCommandBuffer::indirectComputeCommand",
         mlxn::str("index ", commandIndex, ", expected less than ", self->commands->size()));
  return nullptr;
}

void IndirectCommandBuffer::reset(NS::Range range) {
  auto* self = impl(this);
  if (!self) return;
  const uint64_t size = self->commands->size();
  if (mlxn::span_fits(range.location, range.length, size)) {
    return self->commands->reset(range.location, range.length);
  }
  report("MTL::IndirectCommandBuffer::reset",
         mlxn::str("range ", range.location, " + ", range.length, ", expected to end within the ",
                   size, " commands"));
}

void IndirectComputeCommand::setComputePipelineState(const ComputePipelineState* pipelineState) {
  if (auto* self = impl(this)) self->set_pipeline(impl(pipelineState));
}

void IndirectComputeCommand::setKernelBuffer(const Buffer* buffer, NS::UInteger offset,
                                             NS::UInteger index) {
  if (auto* self = impl(this)) self->set_buffer(impl(buffer), offset, index);
}

void IndirectComputeCommand::setThreadgroupMemoryLength(NS::UInteger length, NS::UInteger index) {
  if (auto* self = impl(this)) self->set_threadgroup_memory(length, index);
}

void IndirectComputeCommand::concurrentDispatchThreadgroups(Size threadgroupsPerGrid,
                                                            Size threadsPerThreadgroup) {
  if (auto* self = impl(this)) {
    self->dispatch("concurrentDispatchThreadgroups", IndirectCommand::Kind::kThreadgroups,
                   to_size3(threadgroupsPerGrid), to_size3(threadsPerThreadgroup));
  }
}

void IndirectComputeCommand::concurrentDispatchThreads(Size threadsPerGrid,
                                                       Size threadsPerThreadgroup) {
  if (auto* self = impl(this)) {
    self->dispatch("concurrentDispatchThreads", IndirectCommand::Kind::kThreads,
                   to_size3(threadsPerGrid), to_size3(threadsPerThreadgroup));
  }
}

void IndirectComputeCommand::setBarrier() {
  if (auto* self = impl(this)) self->set_barrier(true);
}

void IndirectComputeCommand::clearBarrier() {
  if (auto* self = impl(this)) self->set_barrier(false);
}

void IndirectComputeCommand::reset() {
  if (auto* self = impl(this)) self->reset();
}

void IndirectComputeCommand::setStageInRegion(Region) {}

void IndirectComputeCommand::setImageblockWidth(NS::UInteger, NS::UInteger) {}

}  // namespace MTL
