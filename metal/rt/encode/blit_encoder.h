#pragma once

#include "metal/rt/encode/encoder.h"
#include "metal/rt/encode/indirect_buffer.h"

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
  // Of indirect command buffers: the host's work, in its place between the commands.
  void reset(IndirectBufferObject* commands, NS::Range range);
  void copy(IndirectBufferObject* source, NS::Range range, IndirectBufferObject* destination,
            uint64_t destination_index);
  void optimize(IndirectBufferObject* commands, NS::Range range);
  void resolve(SampleBufferObject* samples, NS::Range range, BufferObject* destination,
               uint64_t destination_offset);

 private:
  // Checks a span of a buffer and marks the buffer as used.
  bool check_span(const char* call, const char* role, BufferObject* target, uint64_t offset,
                  uint64_t size);
  // Checks a range of commands and marks the buffer as used. False also when it is empty.
  bool check_commands(const char* call, IndirectBufferObject* commands, NS::Range range);
};

}  // namespace mlxn::rt
