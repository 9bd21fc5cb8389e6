#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "metal/rt/device/device.h"
#include "metal/rt/foundation/property.h"
#include "metal/rt/memory/residency.h"
#include "metal/rt/queue/work.h"

MLXN_RT_OBJECT(MTL::CommandQueue, QueueObject)
MLXN_RT_OBJECT(MTL::CommandQueueDescriptor, QueueDescriptorObject)
MLXN_RT_OBJECT(MTL::CommandBuffer, CommandBufferObject)

namespace mlxn::rt {

inline constexpr NS::UInteger kDefaultCommandBuffers = 64;

class QueueDescriptorObject : public Object {
 public:
  using Api = MTL::CommandQueueDescriptor;
  MLXN_CLONEABLE(QueueDescriptorObject)
  NS::UInteger maxCommandBufferCount = kDefaultCommandBuffers;
};

// A stream of the executor. Command buffers take a place in the order when they are enqueued and
// are submitted when they and all before them are committed.
class QueueObject : public Object {
 public:
  using Api = MTL::CommandQueue;
  QueueObject(DeviceObject* owner, NS::UInteger max_buffers)
      : device(owner), max_buffers_(max_buffers), stream_(owner->executor().create_stream()) {}

  // Counts a new command buffer; blocks while there are too many.
  void admit();
  // A command buffer has completed or was dropped before commit.
  void dismiss();

  // Empty work, with the storage of work that is done where there is some.
  std::unique_ptr<Work> take_work(bool retained);
  void give_back(std::unique_ptr<Work> work);

  void enqueue(CommandBufferObject* buffer);
  void commit(Ref<CommandBufferObject> buffer);
  // Takes back the place of a buffer that will never be committed.
  void forget(CommandBufferObject* buffer);
  // See rt::Stream.
  bool is_current_thread() const { return stream_->is_current(); }
  void help(const std::function<bool()>& done) { stream_->help(done); }

  Ref<DeviceObject> device;
  Label label;
  ResidencyList residency;

 private:
  struct Place {
    CommandBufferObject* buffer;         // not retained: forget() removes the place
    Ref<CommandBufferObject> committed;  // null until commit
  };
  void submit_ready();  // under the lock

  const NS::UInteger max_buffers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  NS::UInteger alive_ = 0;
  RecycledDeque<Place> order_;
  std::vector<std::unique_ptr<Work>> idle_work_;
  const std::unique_ptr<Stream> stream_;  // ends first
};

}  // namespace mlxn::rt
