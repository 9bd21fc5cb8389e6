#pragma once

#include "metal/rt/encode/encoder.h"

MLXN_RT_OBJECT(MTL::BlitCommandEncoder, BlitEncoderObject)

namespace mlxn::rt {

// Blits run one after the other, as in Metal.
class BlitEncoderObject : public EncoderObject {
 public:
  using Api = MTL::BlitCommandEncoder;
  BlitEncoderObject(CommandBufferObject* owner, std::vector<PassAttachment> attachments)
      : EncoderObject(owner, "MTL::BlitCommandEncoder", std::move(attachments)) {}

  void copy(BufferObject* source, uint64_t source_offset, BufferObject* destination,
            uint64_t destination_offset, uint64_t size);
  void fill(BufferObject* target, uint64_t offset, uint64_t size, uint8_t value);
  void resolve(SampleBufferObject* samples, NS::Range range, BufferObject* destination,
               uint64_t destination_offset);

 private:
  // Checks a span of a buffer and marks the buffer as used.
  bool check_span(const char* call, const char* role, BufferObject* target, uint64_t offset,
                  uint64_t size);
};

}  // namespace mlxn::rt
