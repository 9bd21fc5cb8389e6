#pragma once

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

enum Mutability : NS::UInteger {
  MutabilityDefault = 0,
  MutabilityMutable = 1,
  MutabilityImmutable = 2,
};

enum ShaderValidation : NS::Integer {
  ShaderValidationDefault = 0,
  ShaderValidationEnabled = 1,
  ShaderValidationDisabled = 2,
};

class MLXN_METAL_API PipelineBufferDescriptor : public NS::Copying<PipelineBufferDescriptor> {
 public:
  static PipelineBufferDescriptor* alloc();
  PipelineBufferDescriptor* init();
  Mutability mutability() const;
  void setMutability(MTL::Mutability mutability);
};

class MLXN_METAL_API PipelineBufferDescriptorArray
    : public NS::Referencing<PipelineBufferDescriptorArray> {
 public:
  static PipelineBufferDescriptorArray* alloc();
  PipelineBufferDescriptorArray* init();
  PipelineBufferDescriptor* object(NS::UInteger bufferIndex);
  void setObject(const MTL::PipelineBufferDescriptor* buffer, NS::UInteger bufferIndex);
};

}  // namespace MTL
