// Counter sets, sample buffers and the pass descriptors that name them.
#pragma once

#include <array>

#include "metal/rt/device/device.h"
#include "metal/rt/foundation/property.h"

MLXN_RT_OBJECT(MTL::Counter, CounterObject)
MLXN_RT_OBJECT(MTL::CounterSet, CounterSetObject)
MLXN_RT_OBJECT(MTL::CounterSampleBufferDescriptor, SampleBufferDescriptorObject)
MLXN_RT_OBJECT(MTL::CounterSampleBuffer, SampleBufferObject)

namespace mlxn::rt {

class CounterObject : public Object {
 public:
  using Api = MTL::Counter;
  Ref<StringObject> name;
};

class CounterSetObject : public Object {
 public:
  using Api = MTL::CounterSet;
  Ref<StringObject> name;
  Ref<ArrayObject> counters;
};

// The counter sets of every device: timestamps.
Ref<ArrayObject> make_counter_sets();

class SampleBufferDescriptorObject : public Object {
 public:
  using Api = MTL::CounterSampleBufferDescriptor;
  MLXN_CLONEABLE(SampleBufferDescriptorObject)
  Ref<CounterSetObject> counterSet;
  Label label;
  MTL::StorageMode storageMode = MTL::StorageModeShared;
  NS::UInteger sampleCount = 0;
};

class SampleBufferObject : public Object {
 public:
  using Api = MTL::CounterSampleBuffer;
  Ref<DeviceObject> device;
  Label label;
  MTL::StorageMode storage = MTL::StorageModeShared;
  uint64_t sampleCount = 0;
  std::shared_ptr<Memory> memory;  // one uint64 for each sample
};

// The attachments and descriptors of compute and blit passes are alike; `Attachment` and its
// siblings name the public classes.
inline constexpr size_t kPassAttachments = 4;

struct PassAttachment {
  Ref<SampleBufferObject> sampleBuffer;
  NS::UInteger startOfEncoderSampleIndex = MTL::CounterDontSample;
  NS::UInteger endOfEncoderSampleIndex = MTL::CounterDontSample;
};

template <class PublicAttachment>
class AttachmentObject : public Object, public PassAttachment {
 public:
  using Api = PublicAttachment;
  MLXN_CLONEABLE(AttachmentObject)
};

template <class PublicArray, class PublicAttachment>
class AttachmentArrayObject : public Object {
 public:
  using Api = PublicArray;
  MLXN_CLONEABLE(AttachmentArrayObject)
  std::array<Ref<AttachmentObject<PublicAttachment>>, kPassAttachments> items;
};

template <class PublicPass, class PublicArray, class PublicAttachment>
class PassObject : public Object {
 public:
  using Api = PublicPass;
  using Array = AttachmentArrayObject<PublicArray, PublicAttachment>;
  PassObject() : sampleBufferAttachments(make<Array>()) {}
  PassObject(const PassObject& other)
      : Object(other),
        dispatchType(other.dispatchType),
        sampleBufferAttachments(
            adopt(static_cast<Array*>(other.sampleBufferAttachments->clone()))) {}
  MLXN_CLONEABLE(PassObject)

  std::vector<PassAttachment> attachments() const {
    std::vector<PassAttachment> list;
    for (auto& item : sampleBufferAttachments->items) {
      if (item && item->sampleBuffer) list.push_back(*item);
    }
    return list;
  }

  MTL::DispatchType dispatchType = MTL::DispatchTypeSerial;
  Ref<Array> sampleBufferAttachments;
};

#define MLXN_PASS_OBJECTS(Kind)                                                                   \
  using Kind##Attachment = AttachmentObject<MTL::Kind##PassSampleBufferAttachmentDescriptor>;     \
  using Kind##AttachmentArray =                                                                   \
      AttachmentArrayObject<MTL::Kind##PassSampleBufferAttachmentDescriptorArray,                 \
                            MTL::Kind##PassSampleBufferAttachmentDescriptor>;                     \
  using Kind##Pass =                                                                              \
      PassObject<MTL::Kind##PassDescriptor, MTL::Kind##PassSampleBufferAttachmentDescriptorArray, \
                 MTL::Kind##PassSampleBufferAttachmentDescriptor>;                                \
  template <>                                                                                     \
  struct ObjectOf<MTL::Kind##PassSampleBufferAttachmentDescriptor> {                              \
    using type = Kind##Attachment;                                                                \
  };                                                                                              \
  template <>                                                                                     \
  struct ObjectOf<MTL::Kind##PassSampleBufferAttachmentDescriptorArray> {                         \
    using type = Kind##AttachmentArray;                                                           \
  };                                                                                              \
  template <>                                                                                     \
  struct ObjectOf<MTL::Kind##PassDescriptor> {                                                    \
    using type = Kind##Pass;                                                                      \
  };
MLXN_PASS_OBJECTS(Compute)
MLXN_PASS_OBJECTS(Blit)
#undef MLXN_PASS_OBJECTS

}  // namespace mlxn::rt
