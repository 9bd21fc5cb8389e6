#include "mlxn/core/memory/internal/residency.h"

#include "mlxn/base/strings.h"
#include "mlxn/core/device/internal/metal_util.h"

namespace mlxn {
namespace {

constexpr NS::UInteger kInitialCapacity = 256;
constexpr const char* kLabel = "mlx_native_default";

}  // namespace

Result<std::unique_ptr<ResidencySet>> ResidencySet::create(MTL::Device* device,
                                                           CounterBlock& counters) {
  AutoreleaseScope scope;
  auto descriptor = NS::TransferPtr(MTL::ResidencySetDescriptor::alloc()->init());
  if (!descriptor) return Error(ErrorCode::kUnsupported, "this system has no residency sets");
  descriptor->setInitialCapacity(kInitialCapacity);
  descriptor->setLabel(ns_string(kLabel));
  NS::Error* error = nullptr;
  auto set = NS::TransferPtr(device->newResidencySet(descriptor.get(), &error));
  if (!set) {
    return Error(ErrorCode::kUnsupported, str("residency set: ", to_text(error)));
  }
  return std::unique_ptr<ResidencySet>(new ResidencySet(std::move(set), counters));
}

ResidencySet::ResidencySet(NS::SharedPtr<MTL::ResidencySet> set, CounterBlock& counters)
    : set_(std::move(set)), counters_(counters) {}

ResidencySet::~ResidencySet() {
  set_->removeAllAllocations();
  set_->commit();
}

void ResidencySet::attach(MTL::CommandQueue* queue) {
  queue->addResidencySet(set_.get());
}

void ResidencySet::detach(MTL::CommandQueue* queue) {
  queue->removeResidencySet(set_.get());
}

void ResidencySet::add(MTL::Allocation* allocation, std::atomic<bool>& resident) {
  std::lock_guard lock(mutex_);
  if (resident.exchange(true)) return;
  if (++members_[allocation] > 1) return;
  set_->addAllocation(allocation);
  bump(counters_.residency_allocations);
  pending_ = true;
}

void ResidencySet::remove(MTL::Allocation* allocation, std::atomic<bool>& resident) {
  std::lock_guard lock(mutex_);
  if (!resident.exchange(false)) return;
  auto member = members_.find(allocation);
  if (member == members_.end() || --member->second > 0) return;
  members_.erase(member);
  set_->removeAllocation(allocation);
  counters_.residency_allocations.fetch_sub(1, std::memory_order_relaxed);
  pending_ = true;
}

bool ResidencySet::flush() {
  if (!pending_.load(std::memory_order_acquire)) return false;
  std::lock_guard lock(mutex_);
  if (!pending_.exchange(false)) return false;
  set_->commit();
  bump(counters_.residency_commits);
  return true;
}

size_t ResidencySet::size() const {
  std::lock_guard lock(mutex_);
  return members_.size();
}

bool ResidencySet::contains(const MTL::Allocation* allocation) const {
  std::lock_guard lock(mutex_);
  return members_.contains(allocation);
}

}  // namespace mlxn
