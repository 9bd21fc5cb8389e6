#pragma once

#include "MTLCommandBuffer.hpp"
#include "MTLCounters.hpp"

namespace MTL {

class MLXN_METAL_API ComputePassSampleBufferAttachmentDescriptor
    : public NS::Copying<ComputePassSampleBufferAttachmentDescriptor> {
 public:
  static ComputePassSampleBufferAttachmentDescriptor* alloc();
  ComputePassSampleBufferAttachmentDescriptor* init();
  CounterSampleBuffer* sampleBuffer() const;
  void setSampleBuffer(const MTL::CounterSampleBuffer* sampleBuffer);
  NS::UInteger startOfEncoderSampleIndex() const;
  void setStartOfEncoderSampleIndex(NS::UInteger startOfEncoderSampleIndex);
  NS::UInteger endOfEncoderSampleIndex() const;
  void setEndOfEncoderSampleIndex(NS::UInteger endOfEncoderSampleIndex);
};

// Four attachments, made on first use.
class MLXN_METAL_API ComputePassSampleBufferAttachmentDescriptorArray
    : public NS::Referencing<ComputePassSampleBufferAttachmentDescriptorArray> {
 public:
  static ComputePassSampleBufferAttachmentDescriptorArray* alloc();
  ComputePassSampleBufferAttachmentDescriptorArray* init();
  ComputePassSampleBufferAttachmentDescriptor* object(NS::UInteger attachmentIndex);
  void setObject(const MTL::ComputePassSampleBufferAttachmentDescriptor* attachment,
                 NS::UInteger attachmentIndex);
};

class MLXN_METAL_API ComputePassDescriptor : public NS::Copying<ComputePassDescriptor> {
 public:
  static ComputePassDescriptor* computePassDescriptor();
  static ComputePassDescriptor* alloc();
  ComputePassDescriptor* init();
  DispatchType dispatchType() const;
  void setDispatchType(MTL::DispatchType dispatchType);
  ComputePassSampleBufferAttachmentDescriptorArray* sampleBufferAttachments() const;
};

}  // namespace MTL
