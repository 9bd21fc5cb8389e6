#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <Metal/Metal.hpp>

#include "mlxn/base/result.h"

namespace mlxn {

// Which buffer slots of a kernel are there and what the kernel may do with them, as bits.
struct KernelAccess {
  uint32_t required = 0;  // slots the kernel uses
  uint32_t writes = 0;    // slots it may write
  bool known = false;     // false: no reflection, or addresses inside buffers; nothing is certain
};

// What the code of a kernel is: two pipelines with equal identity run the same code.
struct KernelIdentity {
  std::string name;       // entry point
  uint64_t source = 0;    // hash of source and compile options; 0 for a wrapped pipeline
  std::string constants;  // canonical text of the function constants: "100:i7"
  friend bool operator==(const KernelIdentity&, const KernelIdentity&) = default;
};

// A compiled kernel. A cheap handle on something immutable; copies share it.
class Pipeline {
 public:
  Pipeline() = default;

  // Around a Metal pipeline made elsewhere. Without reflection all its accesses count as unknown.
  static Result<Pipeline> wrap(MTL::ComputePipelineState* state, std::string name,
                               const MTL::ComputePipelineReflection* reflection = nullptr);
  // As wrap, with the whole identity. `key` is the pipeline's label and the registry's key.
  static Pipeline make(NS::SharedPtr<MTL::ComputePipelineState> state, KernelIdentity identity,
                       std::string key, const MTL::ComputePipelineReflection* reflection);

  // An empty one, default-made or moved from, has no name, no accesses and no threads.
  explicit operator bool() const { return state_ != nullptr; }
  const KernelIdentity& identity() const { return known().identity; }
  const std::string& name() const { return known().identity.name; }
  const std::string& key() const { return known().key; }
  const KernelAccess& access() const { return known().access; }
  uint32_t max_threads() const { return known().max_threads; }
  uint64_t static_threadgroup_bytes() const { return known().static_threadgroup_bytes; }
  // Bits of the threadgroup-memory indices the kernel needs.
  uint32_t threadgroup_slots() const { return known().threadgroup_slots; }
  MTL::ComputePipelineState* metal() const { return known().metal.get(); }
  std::string argument_name(uint32_t slot) const;  // for messages
  // The least that must be bound at a slot below kMaxBufferSlots; 0: not known.
  uint64_t argument_bytes(uint32_t slot) const { return known().argument_bytes[slot]; }

  // What submissions hold and mark.
  struct State {
    NS::SharedPtr<MTL::ComputePipelineState> metal;
    KernelIdentity identity;
    std::string key;
    KernelAccess access;
    const MTL::Device* device = nullptr;  // that it runs on
    uint32_t max_threads = 0, threadgroup_slots = 0;
    uint64_t static_threadgroup_bytes = 0;
    std::string argument_names[31];
    uint64_t argument_bytes[31] = {};
    mutable std::atomic<uint64_t> last_submission{0};
  };
  const std::shared_ptr<const State>& state() const { return state_; }
  friend bool operator==(const Pipeline& a, const Pipeline& b) { return a.state_ == b.state_; }

 private:
  static const State kNothing;
  const State& known() const { return state_ ? *state_ : kNothing; }

  std::shared_ptr<const State> state_;
};

}  // namespace mlxn
