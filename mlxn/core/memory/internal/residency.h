#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <Metal/Metal.hpp>

#include "mlxn/base/result.h"
#include "mlxn/core/device/counters.h"

namespace mlxn {

// The allocations a device hints as resident. Changes are staged; `flush` applies them, at most
// once for each submission. An allocation added under two notes is removed with the second.
// Thread-safe.
class ResidencySet {
 public:
  // Fails where the system has no residency sets; the caller goes on without.
  static Result<std::unique_ptr<ResidencySet>> create(MTL::Device* device, CounterBlock& counters);
  // Empties the set.
  ~ResidencySet();

  // Work of an attached queue finds the members resident. Whoever attaches detaches.
  void attach(MTL::CommandQueue* queue);
  void detach(MTL::CommandQueue* queue);
  // `resident` is the caller's note for this allocation, changed with the set: threads that add and
  // remove at once leave both alike. Without effect when it says so already.
  void add(MTL::Allocation* allocation, std::atomic<bool>& resident);
  void remove(MTL::Allocation* allocation, std::atomic<bool>& resident);
  // Applies staged changes. True when there were any.
  bool flush();
  size_t size() const;  // distinct members
  bool contains(const MTL::Allocation* allocation) const;
  MTL::ResidencySet* metal() const { return set_.get(); }

 private:
  ResidencySet(NS::SharedPtr<MTL::ResidencySet> set, CounterBlock& counters);

  NS::SharedPtr<MTL::ResidencySet> set_;
  CounterBlock& counters_;
  mutable std::mutex mutex_;
  std::unordered_map<const MTL::Allocation*, uint64_t> members_;  // -> times added
  std::atomic<bool> pending_{false};
};

}  // namespace mlxn
