#include "mlxn/core/context.h"

#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

namespace mlxn {
namespace {

std::atomic<uint64_t> g_next_context{1};

DeviceLimits limits_of(MTL::Device* device) {
  DeviceLimits limits;
  limits.max_buffer_length = device->maxBufferLength();
  limits.recommended_working_set = device->recommendedMaxWorkingSetSize();
  limits.max_threadgroup_memory = device->maxThreadgroupMemoryLength();
  limits.max_threads_per_threadgroup =
      static_cast<uint32_t>(device->maxThreadsPerThreadgroup().width);
  limits.unified_memory = device->hasUnifiedMemory();
  limits.dispatch_sampling =
      device->supportsCounterSampling(MTL::CounterSamplingPointAtDispatchBoundary);
  return limits;
}

}  // namespace

Context::Context(MTL::Device* metal_device, RuntimeOptions runtime_options)
    : device(NS::RetainPtr(metal_device)),
      options(std::move(runtime_options)),
      id(g_next_context.fetch_add(1, std::memory_order_relaxed)),
      limits(limits_of(metal_device)) {
  std::string reason = "switched off";
  if (options.residency) {
    auto set = ResidencySet::create(metal_device, counters);
    if (set) {
      residency = std::move(*set);
    } else {
      // Residency is a hint: without it everything still works.
      reason = set.error().message();
      log(LogLevel::kWarning, str("no residency set, going on without: ", reason));
    }
  }
  if (options.log_init) {
    log(LogLevel::kWarning, str("residency ", residency ? "true" : str("false (", reason, ")")));
  }
}

void Context::warn_once(Warning warning, const std::string& text) {
  const uint32_t bit = 1u << static_cast<uint32_t>(warning);
  if (warned_.fetch_or(bit, std::memory_order_relaxed) & bit) return;
  log(LogLevel::kWarning, text);
}

}  // namespace mlxn
