#include "mlxn/core/profile/internal/dispatch_timer.h"

#include <algorithm>
#include <cstring>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"

namespace mlxn {
namespace {

constexpr const char* kLabel = "mlx_native.dispatch_samples";
constexpr const char* kWithout =
    "; dispatches are not timed. The setting profile_cb times command buffers";

std::string name_of(const Context& context) {
  return str("device '", to_text(context.device->name()), "'");
}

NS::SharedPtr<MTL::CounterSet> timestamps_of(MTL::Device* device) {
  const NS::Array* sets = device->counterSets();
  for (NS::UInteger i = 0; sets && i < sets->count(); ++i) {
    auto* set = static_cast<MTL::CounterSet*>(sets->object(i));
    if (set->name()->isEqualToString(MTL::CommonCounterSetTimestamp)) return NS::RetainPtr(set);
  }
  return {};
}

uint64_t sample_at(const NS::Data* data, uint64_t index) {
  uint64_t value = MTL::CounterErrorValue;
  if (data && (index + 1) * sizeof(value) <= data->length()) {
    std::memcpy(&value, static_cast<std::byte*>(data->mutableBytes()) + index * sizeof(value),
                sizeof(value));
  }
  return value;
}

}  // namespace

DispatchTimer::DispatchTimer(Context& context, NS::SharedPtr<MTL::CounterSet> timestamps)
    : context_(context), timestamps_(std::move(timestamps)) {}

std::unique_ptr<DispatchTimer> DispatchTimer::create(Context& context) {
  if (!context.options.profile_dispatches) return nullptr;
  AutoreleaseScope scope;
  if (!context.limits.dispatch_sampling) {
    context.warn_once(
        Context::Warning::kSamplingUnsupported,
        str(name_of(context), " cannot sample counters at dispatch boundaries", kWithout));
    return nullptr;
  }
  auto timestamps = timestamps_of(context.device.get());
  if (!timestamps) {
    context.warn_once(Context::Warning::kNoTimestamps,
                      str(name_of(context), " has no counter set \"timestamp\"", kWithout));
    return nullptr;
  }
  std::unique_ptr<DispatchTimer> timer(new DispatchTimer(context, std::move(timestamps)));
  std::string reason;
  if (!timer->add_buffer(reason)) {
    timer->is_full_ = true;  // every dispatch of this command buffer counts as dropped
    context.warn_once(Context::Warning::kSampleBuffer, str("sample buffer: ", reason, kWithout));
  }
  return timer;
}

bool DispatchTimer::add_buffer(std::string& reason) {
  AutoreleaseScope scope;
  auto descriptor = NS::TransferPtr(MTL::CounterSampleBufferDescriptor::alloc()->init());
  descriptor->setCounterSet(timestamps_.get());
  descriptor->setLabel(ns_string(kLabel));
  descriptor->setStorageMode(MTL::StorageModeShared);
  descriptor->setSampleCount(2 * kDispatchesPerBuffer);
  NS::Error* error = nullptr;
  auto buffer = NS::TransferPtr(context_.device->newCounterSampleBuffer(descriptor.get(), &error));
  if (!buffer) {
    reason = to_text(error);
    return false;
  }
  buffers_.push_back(std::move(buffer));
  return true;
}

void DispatchTimer::before(MTL::ComputeCommandEncoder* pass, DispatchEntry entry) {
  entry.dispatch_index = next_index_++;
  const uint64_t sampled = entries_.size();
  if (sampled == buffers_.size() * kDispatchesPerBuffer) {
    std::string reason;
    if (is_full_ || !add_buffer(reason)) {
      context_.profile.add_dropped_samples(1);
      if (!is_full_) {
        context_.warn_once(Context::Warning::kSampleDropped,
                           str("no sample buffer after ", sampled, " dispatches: ", reason,
                               "; further ones of this command buffer are not timed"));
      }
      is_full_ = true;
      return;
    }
  }
  pass->sampleCountersInBuffer(buffers_.back().get(), 2 * (sampled % kDispatchesPerBuffer), true);
  entries_.push_back(std::move(entry));
  open_ = true;
}

void DispatchTimer::after(MTL::ComputeCommandEncoder* pass) {
  if (!open_) return;
  open_ = false;
  const uint64_t sampled = entries_.size() - 1;
  pass->sampleCountersInBuffer(buffers_.back().get(), 2 * (sampled % kDispatchesPerBuffer) + 1,
                               true);
}

void DispatchTimer::resolve(const std::string& cb_label) {
  AutoreleaseScope scope;
  MTL::Timestamp cpu = 0, gpu = 0;
  context_.device->sampleTimestamps(&cpu, &gpu);
  Profile& profile = context_.profile;
  profile.record_clock_pair(cpu, gpu);
  for (uint64_t first = 0; first < entries_.size(); first += kDispatchesPerBuffer) {
    const uint64_t count = std::min<uint64_t>(kDispatchesPerBuffer, entries_.size() - first);
    const NS::Data* data =
        buffers_[first / kDispatchesPerBuffer]->resolveCounterRange(NS::Range::Make(0, 2 * count));
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t start = sample_at(data, 2 * i), end = sample_at(data, 2 * i + 1);
      if (start == MTL::CounterErrorValue || end == MTL::CounterErrorValue) {
        profile.add_dropped_samples(1);
        continue;
      }
      DispatchEntry& entry = entries_[first + i];
      entry.cb_label = cb_label;
      entry.start_gpu_ns = profile.convert_gpu_ticks_to_ns(start);
      entry.end_gpu_ns = profile.convert_gpu_ticks_to_ns(end);
      entry.gpu_ns = saturating_sub(entry.end_gpu_ns, entry.start_gpu_ns);
      profile.record_dispatch(std::move(entry));
    }
  }
  entries_.clear();
  buffers_.clear();
}

}  // namespace mlxn
