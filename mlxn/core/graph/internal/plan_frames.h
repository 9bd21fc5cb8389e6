// A replay plan as indirect command buffers. Internal.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "mlxn/core/device/device.h"
#include "mlxn/core/graph/captured_node.h"

namespace mlxn {

// An indirect command buffer with inline bytes of its own.
class PlanFrame {
 public:
  MTL::IndirectCommandBuffer* commands() const { return commands_.get(); }
  NS::UInteger count() const { return commands_->size(); }
  MTL::Buffer* bytes() const { return bytes_.get(); }  // null: there are none

 private:
  friend class PlanFrames;
  NS::SharedPtr<MTL::IndirectCommandBuffer> commands_;
  NS::SharedPtr<MTL::Buffer> bytes_;
  uint64_t version_ = 0;                 // of the bytes
  std::atomic<uint32_t> in_flight_ = 0;  // leases
};

// Bytes do not change while a submission may read them: patches go into another frame then. Frames
// come when they are needed.
class PlanFrames {
 public:
  // Resources for the encoder to declare, each once.
  struct Uses {
    std::vector<const MTL::Resource*> read, written;
  };

  // Dispatches, and for each whether a barrier is in front of it.
  PlanFrames(const std::vector<CapturedNode>& nodes, std::vector<bool> barriers);

  // A frame with the inline bytes as they are in the nodes, whose version this is, leased until the
  // result goes; null where the plan cannot be one. Thread-safe while the nodes do not change.
  std::shared_ptr<const PlanFrame> lease(const Device& device, uint64_t version);
  const Uses& uses() const { return uses_; }

 private:
  std::shared_ptr<PlanFrame> make(MTL::Device* device) const;
  // `offset`: of the node's first inline bytes, then of the next one's.
  void encode(const PlanFrame& frame, size_t at, uint64_t& offset) const;
  void write_bytes(const PlanFrame& frame) const;

  const std::vector<CapturedNode>& nodes_;
  const std::vector<bool> barriers_;
  Uses uses_;
  uint64_t byte_count_ = 0;
  bool suitable_ = true;
  std::mutex mutex_;
  std::vector<std::shared_ptr<PlanFrame>> frames_;
};

}  // namespace mlxn
