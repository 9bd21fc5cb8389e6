#include "metal/rt/memory/residency.h"

#include <algorithm>

#include "metal/rt/device/validation.h"
#include "metal/rt/memory/resource.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {

void ResidencySetObject::add(AllocationObject* allocation) {
  std::lock_guard lock(mutex_);
  if (pending_.try_emplace(allocation, Ref(allocation)).second) changed_.push_back(allocation);
}

void ResidencySetObject::remove(AllocationObject* allocation) {
  Members::node_type old;  // released outside the lock
  std::lock_guard lock(mutex_);
  old = pending_.extract(allocation);
  if (old) changed_.push_back(allocation);
}

void ResidencySetObject::remove_all() {
  Members old;
  std::lock_guard lock(mutex_);
  for (const auto& [allocation, reference] : pending_) changed_.push_back(allocation);
  old.swap(pending_);
}

void ResidencySetObject::commit() {
  std::vector<Members::node_type> old;
  std::lock_guard lock(mutex_);
  for (const AllocationObject* allocation : changed_) {
    if (auto member = pending_.find(allocation); member != pending_.end()) {
      committed_.insert(*member);
    } else if (auto gone = committed_.extract(allocation)) {
      old.push_back(std::move(gone));
    }
  }
  changed_.clear();
}

ResidencySetObject::List ResidencySetObject::committed() const {
  std::lock_guard lock(mutex_);
  List out;
  for (const auto& [allocation, reference] : committed_) out.push_back(reference);
  return out;
}

bool ResidencySetObject::contains(const AllocationObject* allocation) const {
  std::lock_guard lock(mutex_);
  return pending_.contains(allocation);
}

void ResidencyList::add(const char* call, const MTL::ResidencySet* const sets[],
                        NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i) {
    if (!sets || !sets[i]) {
      report(call, str("residency set ", i, " of ", count, " is null"));
      continue;
    }
    Ref<ResidencySetObject> set(impl(sets[i]));
    std::lock_guard lock(mutex_);
    const bool known =
        std::any_of(sets_.begin(), sets_.end(), [&](auto& one) { return one.get() == set.get(); });
    if (!known) sets_.push_back(std::move(set));
  }
}

void ResidencyList::remove(const MTL::ResidencySet* const sets[], NS::UInteger count) {
  std::lock_guard lock(mutex_);
  for (NS::UInteger i = 0; sets && i < count; ++i) {
    std::erase_if(sets_, [&](auto& one) { return one.get() == impl(sets[i]); });
  }
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(ResidencySetDescriptor)
MLXN_LABEL(ResidencySetDescriptor, label, setLabel)
MLXN_VALUE(ResidencySetDescriptor, NS::UInteger, initialCapacity, setInitialCapacity)

MLXN_OBJECT_GETTER(ResidencySet, Device, device)
MLXN_LABEL_GETTER(ResidencySet, label)

uint64_t ResidencySet::allocatedSize() const {
  auto* self = impl(this);
  uint64_t bytes = 0;
  if (self) {
    for (auto& allocation : self->committed()) bytes += allocation->allocated_size();
  }
  return bytes;
}

NS::UInteger ResidencySet::allocationCount() const {
  auto* self = impl(this);
  return self ? self->committed().size() : 0;
}

NS::Array* ResidencySet::allAllocations() const {
  auto* self = impl(this);
  return self ? autoreleased(make_array(self->committed())) : nullptr;
}

bool ResidencySet::containsAllocation(const Allocation* allocation) {
  auto* self = impl(this);
  return self && allocation && self->contains(impl(allocation));
}

void ResidencySet::addAllocation(const Allocation* allocation) {
  addAllocations(&allocation, 1);
}

void ResidencySet::addAllocations(const Allocation* const allocations[], NS::UInteger count) {
  auto* self = impl(this);
  for (NS::UInteger i = 0; self && i < count; ++i) {
    if (allocations && allocations[i]) {
      self->add(impl(allocations[i]));
    } else {
      report("MTL::ResidencySet::addAllocations",
             mlxn::str("allocation ", i, " of ", count, " is null"));
    }
  }
}

void ResidencySet::removeAllocation(const Allocation* allocation) {
  removeAllocations(&allocation, 1);
}

void ResidencySet::removeAllocations(const Allocation* const allocations[], NS::UInteger count) {
  auto* self = impl(this);
  for (NS::UInteger i = 0; self && allocations && i < count; ++i)
    self->remove(impl(allocations[i]));
}

void ResidencySet::removeAllAllocations() {
  if (auto* self = impl(this)) self->remove_all();
}

void ResidencySet::commit() {
  if (auto* self = impl(this)) self->commit();
}

void ResidencySet::requestResidency() {}
void ResidencySet::endResidency() {}

ResidencySet* Device::newResidencySet(const ResidencySetDescriptor* descriptor, NS::Error** error) {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (!descriptor) {
    set_error(error, make_error(kDeviceErrorDomain, 2,
                                "MTL::Device::newResidencySet: null descriptor, expected one"));
    return nullptr;
  }
  auto set = make<ResidencySetObject>();
  set->device = Ref(self);
  set->label = impl(descriptor)->label;
  return owned(std::move(set));
}

}  // namespace MTL
