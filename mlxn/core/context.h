// What all handles of one device share. Internal.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <Metal/Metal.hpp>

#include "mlxn/core/counters.h"
#include "mlxn/core/device.h"
#include "mlxn/core/options.h"
#include "mlxn/core/profile.h"
#include "mlxn/core/residency.h"

namespace mlxn {

class Context {
 public:
  Context(MTL::Device* device, RuntimeOptions options);

  // Warns the first time it is called for this reason in this context.
  enum class Warning { kSamplingUnsupported, kNoTimestamps, kSampleBuffer, kSampleDropped, kCount };
  void warn_once(Warning warning, const std::string& text);

  const NS::SharedPtr<MTL::Device> device;
  const RuntimeOptions options;
  const uint64_t id;
  DeviceLimits limits;
  CounterBlock counters;
  Profile profile;
  std::unique_ptr<ResidencySet> residency;  // null: none
  std::atomic<uint64_t> next_submission{1}, next_queue{0};

 private:
  std::atomic<uint32_t> warned_{0};
};

}  // namespace mlxn
