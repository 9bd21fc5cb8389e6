#include "metal/rt/device/counters.h"

#include <cstring>

#include "metal/rt/device/validation.h"
#include "mlxn/base/checked.h"

namespace MTL {
NS::ErrorDomain const CounterErrorDomain =
    NS::detail::constantString(mlxn::rt::kCounterErrorDomain);
CommonCounter const CommonCounterTimestamp = NS::detail::constantString("timestamp");
CommonCounterSet const CommonCounterSetTimestamp = NS::detail::constantString("timestamp");
}  // namespace MTL

namespace mlxn::rt {

Ref<ArrayObject> make_counter_sets() {
  auto counter = make<CounterObject>();
  counter->name = Ref(impl(MTL::CommonCounterTimestamp));
  auto set = make<CounterSetObject>();
  set->name = Ref(impl(MTL::CommonCounterSetTimestamp));
  set->counters = make_array<CounterObject>({counter});
  return make_array<CounterSetObject>({set});
}

namespace {

// Apple's limit for one sample buffer, 32 KiB.
constexpr uint64_t kMaxSamples = 32768 / sizeof(uint64_t);

Result<Ref<SampleBufferObject>> create(DeviceObject* device,
                                       const SampleBufferDescriptorObject* descriptor) {
  if (!descriptor) return Error(ErrorCode::kInvalidArgument, "null descriptor");
  if (!descriptor->counterSet) {
    return Error(ErrorCode::kInvalidArgument,
                 "no counter set, expected one of Device::counterSets");
  }
  const uint64_t count = descriptor->sampleCount;
  if (count == 0 || count > kMaxSamples) {
    return Error(ErrorCode::kOutOfRange,
                 str("sample count ", count, ", expected 1 to ", kMaxSamples));
  }
  const bool is_private = descriptor->storageMode == MTL::StorageModePrivate;
  if (!is_private && descriptor->storageMode != MTL::StorageModeShared) {
    return Error(ErrorCode::kInvalidArgument, str("storage mode ", descriptor->storageMode,
                                                  ", expected Shared (0) or Private (2)"));
  }
  MLXN_ASSIGN(auto memory,
              device->executor().allocate(count * sizeof(uint64_t),
                                          is_private ? Storage::kPrivate : Storage::kShared));
  if (memory->host) std::memset(memory->host, 0xff, memory->size);  // CounterErrorValue
  auto buffer = make<SampleBufferObject>();
  buffer->device = Ref(device);
  buffer->label = descriptor->label;
  buffer->storage = descriptor->storageMode;
  buffer->sampleCount = count;
  buffer->memory = std::move(memory);
  return buffer;
}

}  // namespace
}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_OBJECT_GETTER(Counter, NS::String, name)
MLXN_OBJECT_GETTER(CounterSet, NS::String, name)
MLXN_OBJECT_GETTER(CounterSet, NS::Array, counters)

MLXN_ALLOC(CounterSampleBufferDescriptor)
MLXN_OBJECT(CounterSampleBufferDescriptor, CounterSet, counterSet, setCounterSet)
MLXN_LABEL(CounterSampleBufferDescriptor, label, setLabel)
MLXN_VALUE(CounterSampleBufferDescriptor, StorageMode, storageMode, setStorageMode)
MLXN_VALUE(CounterSampleBufferDescriptor, NS::UInteger, sampleCount, setSampleCount)

MLXN_OBJECT_GETTER(CounterSampleBuffer, Device, device)
MLXN_LABEL_GETTER(CounterSampleBuffer, label)
MLXN_GETTER(CounterSampleBuffer, NS::UInteger, sampleCount)

NS::Data* CounterSampleBuffer::resolveCounterRange(NS::Range range) {
  constexpr const char* kCall = "MTL::CounterSampleBuffer::resolveCounterRange";
  auto* self = impl(this);
  if (!self) return nullptr;
  if (!mlxn::span_fits(range.location, range.length, self->sampleCount)) {
    report(kCall, mlxn::str("range ", range.location, " + ", range.length,
                            ", expected to end within the ", self->sampleCount, " samples"));
    return nullptr;
  }
  if (self->storage != StorageModeShared || !self->memory->host) {
    report(kCall, "storage mode Private, expected Shared; use resolveCounters of a blit encoder");
    return nullptr;
  }
  return autoreleased(make<DataObject>(self->memory->host + range.location * sizeof(uint64_t),
                                       range.length * sizeof(uint64_t)));
}

CounterSampleBuffer* Device::newCounterSampleBuffer(const CounterSampleBufferDescriptor* descriptor,
                                                    NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  auto buffer = create(self, impl(descriptor));
  if (buffer) return owned(std::move(*buffer));
  const bool memory = buffer.error().code() == mlxn::ErrorCode::kOutOfMemory;
  const std::string label = descriptor ? impl(descriptor)->label.text() : std::string();
  if (!label.empty()) buffer.error().add_context(mlxn::str("'", label, "'"));
  set_error(error, make_error(kCounterErrorDomain,
                              memory ? CounterSampleBufferErrorOutOfMemory
                                     : CounterSampleBufferErrorInvalid,
                              "MTL::Device::newCounterSampleBuffer: " + buffer.error().message()));
  return nullptr;
}

#define MLXN_PASS(Kind, factory)                                                                  \
  MLXN_ALLOC(Kind##PassSampleBufferAttachmentDescriptor)                                          \
  MLXN_OBJECT(Kind##PassSampleBufferAttachmentDescriptor, CounterSampleBuffer, sampleBuffer,      \
              setSampleBuffer)                                                                    \
  MLXN_VALUE(Kind##PassSampleBufferAttachmentDescriptor, NS::UInteger, startOfEncoderSampleIndex, \
             setStartOfEncoderSampleIndex)                                                        \
  MLXN_VALUE(Kind##PassSampleBufferAttachmentDescriptor, NS::UInteger, endOfEncoderSampleIndex,   \
             setEndOfEncoderSampleIndex)                                                          \
  MLXN_ALLOC(Kind##PassSampleBufferAttachmentDescriptorArray)                                     \
  Kind##PassSampleBufferAttachmentDescriptor*                                                     \
      Kind##PassSampleBufferAttachmentDescriptorArray::object(NS::UInteger index) {               \
    auto* item = attachment_slot(impl(this), index);                                              \
    return item ? api(item->get()) : nullptr;                                                     \
  }                                                                                               \
  void Kind##PassSampleBufferAttachmentDescriptorArray::setObject(                                \
      const Kind##PassSampleBufferAttachmentDescriptor* attachment, NS::UInteger index) {         \
    if (auto* item = attachment_slot(impl(this), index))                                          \
      *item = attachment ? make<Kind##Attachment>(*impl(attachment)) : make<Kind##Attachment>();  \
  }                                                                                               \
  MLXN_ALLOC(Kind##PassDescriptor)                                                                \
  Kind##PassDescriptor* Kind##PassDescriptor::factory() {                                         \
    return alloc()->init()->autorelease();                                                        \
  }                                                                                               \
  MLXN_OBJECT_GETTER(Kind##PassDescriptor, Kind##PassSampleBufferAttachmentDescriptorArray,       \
                     sampleBufferAttachments)

// The attachment at an index, made on first use; null, with a report, past the last one.
template <class Array>
static auto attachment_slot(Array* self, NS::UInteger index) -> decltype(&self->items[0]) {
  if (!self) return nullptr;
  if (index >= kPassAttachments) {
    report("MTL::PassSampleBufferAttachmentDescriptorArray",
           mlxn::str("attachment index ", index, ", expected less than ", kPassAttachments));
    return nullptr;
  }
  auto& item = self->items[index];
  if (!item) item = make<std::remove_pointer_t<decltype(item.get())>>();
  return &item;
}

MLXN_PASS(Compute, computePassDescriptor)
MLXN_PASS(Blit, blitPassDescriptor)
#undef MLXN_PASS

MLXN_VALUE(ComputePassDescriptor, DispatchType, dispatchType, setDispatchType)

}  // namespace MTL
