#include "mlxn/core/graph/internal/plan_frames.h"

#include <algorithm>
#include <cstring>

#include "mlxn/core/device/internal/metal_util.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

constexpr uint64_t kByteAlignment = 32;     // the most that Metal asks of a constant argument
constexpr uint64_t kMostCommands = 0x4000;  // of one execution on every Mac

uint64_t room_for(const RecordedBinding& binding) {
  return (binding.bytes.size() + kByteAlignment - 1) / kByteAlignment * kByteAlignment;
}

// Calls `function(binding, offset in the frame's bytes)` for the inline bytes of a node.
template <class Function>
void for_each_bytes(const CapturedNode& node, uint64_t& offset, const Function& function) {
  for (const RecordedBinding& binding : node.bindings) {
    if (binding.storage) continue;
    function(binding, offset);
    offset += room_for(binding);
  }
}

// Metal may not mix kinds of commands in one buffer, and whole threadgroups are threads too.
MTL::Size threads_of(const CapturedNode& node) {
  const MTL::Size &grid = node.grid, &group = node.threadgroup;
  if (node.kind == DispatchKind::kThreads) return grid;
  return MTL::Size(grid.width * group.width, grid.height * group.height, grid.depth * group.depth);
}

}  // namespace

PlanFrames::PlanFrames(const std::vector<CapturedNode>& nodes, std::vector<bool> barriers)
    : nodes_(nodes), barriers_(std::move(barriers)), suitable_(nodes.size() <= kMostCommands) {
  for (const CapturedNode& node : nodes_) {
    suitable_ &= node.pipeline.metal()->supportIndirectCommandBuffers();
    const KernelAccess& access = node.pipeline.access();
    for_each_bytes(node, byte_count_, [](const RecordedBinding&, uint64_t) {});
    for (const RecordedBinding& binding : node.bindings) {
      if (!binding.storage) continue;
      const bool writes = !access.known || (access.writes >> binding.slot & 1);
      (writes ? uses_.written : uses_.read).push_back(binding.storage->buffer.get());
    }
  }
  for (auto* list : {&uses_.read, &uses_.written}) {
    std::ranges::sort(*list);
    list->erase(std::ranges::unique(*list).begin(), list->end());
  }
  std::erase_if(uses_.read, [&](const MTL::Resource* one) {
    return std::ranges::binary_search(uses_.written, one);
  });
}

std::shared_ptr<const PlanFrame> PlanFrames::lease(const Device& device, uint64_t version) {
  if (!suitable_) return nullptr;
  std::lock_guard lock(mutex_);
  std::shared_ptr<PlanFrame> found;
  for (const auto& frame : frames_) {
    const bool free = frame->in_flight_.load(std::memory_order_acquire) == 0;
    if (frame->version_ == version || (free && !found)) found = frame;
    if (frame->version_ == version) break;
  }
  if (!found) {
    found = make(device.metal_device());
    if (!found) return nullptr;
    frames_.push_back(found);
  } else if (found->version_ != version) {
    write_bytes(*found);
  }
  found->version_ = version;
  found->in_flight_.fetch_add(1, std::memory_order_relaxed);
  const PlanFrame* frame = found.get();
  const auto end = [found = std::move(found)](const PlanFrame*) {
    found->in_flight_.fetch_sub(1, std::memory_order_release);
  };
  return std::shared_ptr<const PlanFrame>(frame, end, RecyclingAllocator<PlanFrame>());
}

std::shared_ptr<PlanFrame> PlanFrames::make(MTL::Device* device) const {
  AutoreleaseScope scope;
  auto descriptor = NS::TransferPtr(MTL::IndirectCommandBufferDescriptor::alloc()->init());
  descriptor->setCommandTypes(MTL::IndirectCommandTypeConcurrentDispatchThreads);
  descriptor->setInheritPipelineState(false);
  descriptor->setInheritBuffers(false);
  descriptor->setMaxKernelBufferBindCount(kMaxBufferSlots);
  descriptor->setMaxKernelThreadgroupMemoryBindCount(kMaxBufferSlots);
  auto frame = std::make_shared<PlanFrame>();
  frame->commands_ = NS::TransferPtr(device->newIndirectCommandBuffer(
      descriptor.get(), nodes_.size(), MTL::ResourceStorageModeShared));
  if (!frame->commands_) return nullptr;
  frame->commands_->setLabel(ns_string("replay plan"));
  if (byte_count_ != 0) {
    frame->bytes_ = NS::TransferPtr(device->newBuffer(byte_count_, MTL::ResourceStorageModeShared));
    if (!frame->bytes_) return nullptr;
    write_bytes(*frame);
  }
  uint64_t offset = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) encode(*frame, i, offset);
  return frame;
}

void PlanFrames::encode(const PlanFrame& frame, size_t at, uint64_t& offset) const {
  const CapturedNode& node = nodes_[at];
  MTL::IndirectComputeCommand* command = frame.commands_->indirectComputeCommand(at);
  command->setComputePipelineState(node.pipeline.metal());
  for (const RecordedBinding& binding : node.bindings) {
    if (!binding.storage) continue;
    command->setKernelBuffer(binding.storage->buffer.get(), binding.offset, binding.slot);
  }
  for_each_bytes(node, offset, [&](const RecordedBinding& binding, uint64_t begin) {
    command->setKernelBuffer(frame.bytes_.get(), begin, binding.slot);
  });
  for (const ThreadgroupMemory& memory : node.threadgroup_memory) {
    command->setThreadgroupMemoryLength(threadgroup_bytes(memory.bytes), memory.index);
  }
  if (barriers_[at]) command->setBarrier();
  command->concurrentDispatchThreads(threads_of(node), node.threadgroup);
}

void PlanFrames::write_bytes(const PlanFrame& frame) const {
  if (!frame.bytes_) return;
  auto* to = static_cast<std::byte*>(frame.bytes_->contents());
  uint64_t offset = 0;
  for (const CapturedNode& node : nodes_) {
    for_each_bytes(node, offset, [&](const RecordedBinding& binding, uint64_t at) {
      std::memcpy(to + at, binding.bytes.data(), binding.bytes.size());
    });
  }
}

}  // namespace mlxn
