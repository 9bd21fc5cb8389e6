#pragma once

#include <cstdint>

#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"

namespace MTL {

enum CounterSampleBufferError : NS::Integer {
  CounterSampleBufferErrorOutOfMemory = 0,
  CounterSampleBufferErrorInvalid = 1,
  CounterSampleBufferErrorInternal = 2,
};

using CommonCounter = NS::String*;
using CommonCounterSet = NS::String*;

static const NS::UInteger CounterErrorValue = ~NS::UInteger(0);  // a sample that was never taken
static const NS::UInteger CounterDontSample = ~NS::UInteger(0);

extern MLXN_METAL_API NS::ErrorDomain const CounterErrorDomain;
extern MLXN_METAL_API CommonCounter const CommonCounterTimestamp;
extern MLXN_METAL_API CommonCounterSet const CommonCounterSetTimestamp;

// Nanoseconds on the clock of Device::sampleTimestamps.
struct CounterResultTimestamp {
  uint64_t timestamp;
} MLXN_METAL_PACKED;

class MLXN_METAL_API Counter : public NS::Referencing<Counter> {
 public:
  NS::String* name() const;
};

class MLXN_METAL_API CounterSet : public NS::Referencing<CounterSet> {
 public:
  NS::String* name() const;
  NS::Array* counters() const;
};

class MLXN_METAL_API CounterSampleBufferDescriptor
    : public NS::Copying<CounterSampleBufferDescriptor> {
 public:
  static CounterSampleBufferDescriptor* alloc();
  CounterSampleBufferDescriptor* init();
  CounterSet* counterSet() const;
  void setCounterSet(const MTL::CounterSet* counterSet);
  NS::String* label() const;
  void setLabel(const NS::String* label);
  StorageMode storageMode() const;
  void setStorageMode(MTL::StorageMode storageMode);
  NS::UInteger sampleCount() const;
  void setSampleCount(NS::UInteger sampleCount);
};

class MLXN_METAL_API CounterSampleBuffer : public NS::Referencing<CounterSampleBuffer> {
 public:
  Device* device() const;
  NS::String* label() const;
  NS::UInteger sampleCount() const;
  NS::Data* resolveCounterRange(NS::Range range);
};

}  // namespace MTL
