#include "metal/rt/encode/blit_encoder.h"

#include <algorithm>

#include "mlxn/base/checked.h"

namespace mlxn::rt {

bool BlitEncoderObject::check_span(const char* call, const char* role, BufferObject* target,
                                   uint64_t offset, uint64_t size) {
  if (!check_object(call, target, role)) return false;
  const bool inside = span_fits(offset, size, target->length);
  if (inside && size == 0 && !validates()) return false;  // nothing to do
  if (size == 0 || !inside) {
    violation(call, str(role, " range ", offset, " + ", size,
                        ", expected at least one byte within the length ", target->length));
    return false;
  }
  work().hold(target, {.role = UsePlace::kTransfer, .call = call});
  return true;
}

void BlitEncoderObject::copy(BufferObject* source, uint64_t source_offset,
                             BufferObject* destination, uint64_t destination_offset,
                             uint64_t size) {
  constexpr const char* kCall = "copyFromBuffer";
  if (!can_encode(kCall) || !check_span(kCall, "source buffer", source, source_offset, size) ||
      !check_span(kCall, "destination buffer", destination, destination_offset, size)) {
    return;
  }
  const uint64_t from = source->offset + source_offset;
  const uint64_t to = destination->offset + destination_offset;
  if (validates() && source->memory == destination->memory &&
      std::max(from, to) - std::min(from, to) < size) {
    return violation(kCall,
                     str("source range ", source_offset, " + ", size, " and destination range ",
                         destination_offset, " + ", size, " overlap"));
  }
  work().barrier();
  work().list.commands.emplace_back(
      Copy{source->memory.get(), destination->memory.get(), from, to, size});
}

void BlitEncoderObject::fill(BufferObject* target, uint64_t offset, uint64_t size, uint8_t value) {
  constexpr const char* kCall = "fillBuffer";
  if (!can_encode(kCall) || !check_span(kCall, "buffer", target, offset, size)) return;
  work().barrier();
  work().list.commands.emplace_back(
      Fill{target->memory.get(), target->offset + offset, size, value});
}

void BlitEncoderObject::resolve(SampleBufferObject* samples, NS::Range range,
                                BufferObject* destination, uint64_t destination_offset) {
  constexpr const char* kCall = "resolveCounters";
  if (!can_encode(kCall) || !check_object(kCall, samples, "counter sample buffer")) return;
  const bool inside = span_fits(range.location, range.length, samples->sampleCount);
  if (inside && range.length == 0 && !validates()) return;
  if (range.length == 0 || !inside) {
    return violation(kCall,
                     str("sample range ", range.location, " + ", range.length,
                         ", expected at least one within the ", samples->sampleCount, " samples"));
  }
  constexpr uint64_t kSample = sizeof(uint64_t);
  if (validates() && destination_offset % kSample != 0) {
    return violation(kCall, str("destination offset ", destination_offset,
                                ", expected a multiple of ", kSample));
  }
  const uint64_t bytes = range.length * kSample;
  if (!check_span(kCall, "destination buffer", destination, destination_offset, bytes)) return;
  work().keep(samples);
  work().barrier();
  work().list.commands.emplace_back(Copy{samples->memory.get(), destination->memory.get(),
                                         range.location * kSample,
                                         destination->offset + destination_offset, bytes});
}

bool BlitEncoderObject::check_commands(const char* call, IndirectBufferObject* commands,
                                       NS::Range range) {
  if (!can_encode(call) || !check_object(call, commands, "indirect command buffer")) return false;
  const uint64_t size = commands->commands->size();
  const bool inside = span_fits(range.location, range.length, size);
  if (inside && range.length == 0 && !validates()) return false;  // nothing to do
  if (range.length == 0 || !inside) {
    violation(call, str("range ", range.location, " + ", range.length,
                        ", expected at least one within the ", size, " commands"));
    return false;
  }
  work().hold(commands,
              {.role = UsePlace::kTransfer, .call = call, .kind = "indirect command buffer"});
  return true;
}

void BlitEncoderObject::reset(IndirectBufferObject* commands, NS::Range range) {
  if (!check_commands("resetCommandsInBuffer", commands, range)) return;
  call_host([target = commands->commands, range]() -> Status {
    target->reset(range.location, range.length);
    return {};
  });
}

void BlitEncoderObject::copy(IndirectBufferObject* source, NS::Range range,
                             IndirectBufferObject* destination, uint64_t destination_index) {
  constexpr const char* kCall = "copyIndirectCommandBuffer";
  if (!check_commands(kCall, source, range) ||
      !check_commands(kCall, destination, {destination_index, range.length})) {
    return;
  }
  call_host(
      [from = source->commands, to = destination->commands, range, destination_index]() -> Status {
        IndirectCommands::copy(*from, range.location, range.length, *to, destination_index);
        return {};
      });
}

void BlitEncoderObject::optimize(IndirectBufferObject* commands, NS::Range range) {
  check_commands("optimizeIndirectCommandBuffer", commands, range);
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

void BlitCommandEncoder::copyFromBuffer(const Buffer* sourceBuffer, NS::UInteger sourceOffset,
                                        const Buffer* destinationBuffer,
                                        NS::UInteger destinationOffset, NS::UInteger size) {
  if (auto* self = impl(this)) {
    self->copy(impl(sourceBuffer), sourceOffset, impl(destinationBuffer), destinationOffset, size);
  }
}

void BlitCommandEncoder::fillBuffer(const Buffer* buffer, NS::Range range, uint8_t value) {
  if (auto* self = impl(this)) self->fill(impl(buffer), range.location, range.length, value);
}

// Memory is coherent: only the call itself is checked.
void BlitCommandEncoder::synchronizeResource(const Resource* resource) {
  auto* self = impl(this);
  if (self && self->can_encode("synchronizeResource")) {
    self->check_declared("synchronizeResource", impl(resource), "resource");
  }
}

void BlitCommandEncoder::resolveCounters(const CounterSampleBuffer* sampleBuffer, NS::Range range,
                                         const Buffer* destinationBuffer,
                                         NS::UInteger destinationOffset) {
  if (auto* self = impl(this)) {
    self->resolve(impl(sampleBuffer), range, impl(destinationBuffer), destinationOffset);
  }
}

void BlitCommandEncoder::sampleCountersInBuffer(const CounterSampleBuffer* sampleBuffer,
                                                NS::UInteger sampleIndex, bool barrier) {
  if (auto* self = impl(this)) {
    self->sample("sampleCountersInBuffer", impl(sampleBuffer), sampleIndex, barrier);
  }
}

void BlitCommandEncoder::resetCommandsInBuffer(const IndirectCommandBuffer* buffer,
                                               NS::Range range) {
  if (auto* self = impl(this)) self->reset(impl(buffer), range);
}

void BlitCommandEncoder::copyIndirectCommandBuffer(const IndirectCommandBuffer* source,
                                                   NS::Range sourceRange,
                                                   const IndirectCommandBuffer* destination,
                                                   NS::UInteger destinationIndex) {
  if (auto* self = impl(this)) {
    self->copy(impl(source), sourceRange, impl(destination), destinationIndex);
  }
}

void BlitCommandEncoder::optimizeIndirectCommandBuffer(
    const IndirectCommandBuffer* indirectCommandBuffer, NS::Range range) {
  if (auto* self = impl(this)) self->optimize(impl(indirectCommandBuffer), range);
}

void BlitCommandEncoder::updateFence(const Fence* fence) {
  if (auto* self = impl(this)) self->fence("updateFence", impl(fence));
}

void BlitCommandEncoder::waitForFence(const Fence* fence) {
  if (auto* self = impl(this)) self->fence("waitForFence", impl(fence));
}

}  // namespace MTL
