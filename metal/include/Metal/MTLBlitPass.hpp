#pragma once

#include "MTLCommandBuffer.hpp"
#include "MTLCounters.hpp"

namespace MTL {

class MLXN_METAL_API BlitPassSampleBufferAttachmentDescriptor
    : public NS::Copying<BlitPassSampleBufferAttachmentDescriptor> {
 public:
  static BlitPassSampleBufferAttachmentDescriptor* alloc();
  BlitPassSampleBufferAttachmentDescriptor* init();
  CounterSampleBuffer* sampleBuffer() const;
  void setSampleBuffer(const MTL::CounterSampleBuffer* sampleBuffer);
  NS::UInteger startOfEncoderSampleIndex() const;
  void setStartOfEncoderSampleIndex(NS::UInteger startOfEncoderSampleIndex);
  NS::UInteger endOfEncoderSampleIndex() const;
  void setEndOfEncoderSampleIndex(NS::UInteger endOfEncoderSampleIndex);
};

// Four attachments, made on first use.
class MLXN_METAL_API BlitPassSampleBufferAttachmentDescriptorArray
    : public NS::Referencing<BlitPassSampleBufferAttachmentDescriptorArray> {
 public:
  static BlitPassSampleBufferAttachmentDescriptorArray* alloc();
  BlitPassSampleBufferAttachmentDescriptorArray* init();
  BlitPassSampleBufferAttachmentDescriptor* object(NS::UInteger attachmentIndex);
  void setObject(const MTL::BlitPassSampleBufferAttachmentDescriptor* attachment,
                 NS::UInteger attachmentIndex);
};

class MLXN_METAL_API BlitPassDescriptor : public NS::Copying<BlitPassDescriptor> {
 public:
  static BlitPassDescriptor* blitPassDescriptor();
  static BlitPassDescriptor* alloc();
  BlitPassDescriptor* init();
  BlitPassSampleBufferAttachmentDescriptorArray* sampleBufferAttachments() const;
};

}  // namespace MTL
