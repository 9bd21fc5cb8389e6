#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Buffer;
class Device;

// Writes gpuAddress pointers and constants into an argument buffer (tier 2: a plain struct).
class MLXN_METAL_API ArgumentEncoder : public NS::Referencing<ArgumentEncoder> {
 public:
  Device* device() const;
  NS::String* label() const;
  void setLabel(const NS::String* label);
  NS::UInteger encodedLength() const;
  NS::UInteger alignment() const;

  void setArgumentBuffer(const MTL::Buffer* argumentBuffer, NS::UInteger offset);
  void setArgumentBuffer(const MTL::Buffer* argumentBuffer, NS::UInteger startOffset,
                         NS::UInteger arrayElement);
  void setBuffer(const MTL::Buffer* buffer, NS::UInteger offset, NS::UInteger index);
  void setBuffers(const MTL::Buffer* const buffers[], const NS::UInteger offsets[],
                  NS::Range range);
  void* constantData(NS::UInteger index);
  ArgumentEncoder* newArgumentEncoder(NS::UInteger index);
};

}  // namespace MTL
