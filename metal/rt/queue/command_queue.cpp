#include "metal/rt/queue/command_queue.h"

#include <algorithm>
#include <chrono>

#include "metal/rt/device/validation.h"
#include "metal/rt/queue/command_buffer.h"
#include "mlxn/base/strings.h"

namespace mlxn::rt {
namespace {

// What a queue keeps for the next command buffers.
constexpr size_t kMaxIdleWork = 8;
constexpr uint64_t kMaxIdleBytes = 4 << 20;  // each

}  // namespace

void QueueObject::admit() {
  std::unique_lock lock(mutex_);
  auto free = [&] { return alive_ < max_buffers_; };
  // A handler of this queue must not wait for buffers that only this thread can complete.
  if (!is_current_thread() && !changed_.wait_for(lock, std::chrono::seconds(2), free)) {
    lock.unlock();
    report("MTL::CommandQueue::commandBuffer",
           str("waits because ", max_buffers_,
               " command buffers of this queue have not completed, "
               "the maximum; commit or release some"));
    lock.lock();
    changed_.wait(lock, free);
  }
  ++alive_;
}

void QueueObject::dismiss() {
  std::lock_guard lock(mutex_);
  --alive_;
  changed_.notify_all();
}

std::unique_ptr<Work> QueueObject::take_work(bool retained) {
  std::unique_ptr<Work> work;
  {
    std::lock_guard lock(mutex_);
    if (!idle_work_.empty()) {
      work = std::move(idle_work_.back());
      idle_work_.pop_back();
    }
  }
  if (!work) work = std::make_unique<Work>();
  work->begin(retained);
  return work;
}

void QueueObject::give_back(std::unique_ptr<Work> work) {
  work->clear();  // without the lock: it may release objects of the user's
  if (work->capacity_bytes() > kMaxIdleBytes) return;
  std::lock_guard lock(mutex_);
  if (idle_work_.size() < kMaxIdleWork) idle_work_.push_back(std::move(work));
}

void QueueObject::enqueue(CommandBufferObject* buffer) {
  std::lock_guard lock(mutex_);
  order_.push_back({buffer, nullptr});
}

void QueueObject::commit(Ref<CommandBufferObject> buffer) {
  std::lock_guard lock(mutex_);
  auto place = std::find_if(order_.begin(), order_.end(),
                            [&](const Place& one) { return one.buffer == buffer.get(); });
  if (place != order_.end()) place->committed = std::move(buffer);
  submit_ready();
}

void QueueObject::forget(CommandBufferObject* buffer) {
  std::lock_guard lock(mutex_);
  std::erase_if(order_, [&](const Place& one) { return one.buffer == buffer; });
  submit_ready();
}

void QueueObject::submit_ready() {
  while (!order_.empty() && order_.front().committed) {
    CommandBufferObject::submit(std::move(order_.front().committed), *stream_);
    order_.pop_front();
  }
}

}  // namespace mlxn::rt

namespace MTL {

using namespace mlxn::rt;

MLXN_ALLOC(CommandQueueDescriptor)
MLXN_VALUE(CommandQueueDescriptor, NS::UInteger, maxCommandBufferCount, setMaxCommandBufferCount)

MLXN_OBJECT_GETTER(CommandQueue, Device, device)
MLXN_LABEL(CommandQueue, label, setLabel)

static CommandBuffer* create(QueueObject* queue, const CommandBufferDescriptorObject& descriptor) {
  if (!queue) return nullptr;
  queue->admit();
  return autoreleased(make<CommandBufferObject>(queue, descriptor));
}

CommandBuffer* CommandQueue::commandBuffer() {
  return create(impl(this), {});
}

CommandBuffer* CommandQueue::commandBuffer(const CommandBufferDescriptor* descriptor) {
  return descriptor ? create(impl(this), *impl(descriptor)) : commandBuffer();
}

CommandBuffer* CommandQueue::commandBufferWithUnretainedReferences() {
  CommandBufferDescriptorObject descriptor;
  descriptor.retainedReferences = false;
  return create(impl(this), descriptor);
}

void CommandQueue::insertDebugCaptureBoundary() {}

void CommandQueue::addResidencySet(const ResidencySet* set) {
  addResidencySets(&set, 1);
}
void CommandQueue::addResidencySets(const ResidencySet* const sets[], NS::UInteger count) {
  if (auto* self = impl(this))
    self->residency.add("MTL::CommandQueue::addResidencySets", sets, count);
}
void CommandQueue::removeResidencySet(const ResidencySet* set) {
  removeResidencySets(&set, 1);
}
void CommandQueue::removeResidencySets(const ResidencySet* const sets[], NS::UInteger count) {
  if (auto* self = impl(this)) self->residency.remove(sets, count);
}

CommandQueue* Device::newCommandQueue() {
  return newCommandQueue(kDefaultCommandBuffers);
}

CommandQueue* Device::newCommandQueue(NS::UInteger maxCommandBufferCount) {
  auto* self = impl(this);
  if (!self) return nullptr;
  if (maxCommandBufferCount == 0) {
    report("MTL::Device::newCommandQueue", "maxCommandBufferCount 0, expected at least 1");
    return nullptr;
  }
  return owned(make<QueueObject>(self, maxCommandBufferCount));
}

CommandQueue* Device::newCommandQueue(const CommandQueueDescriptor* descriptor) {
  return descriptor ? newCommandQueue(descriptor->maxCommandBufferCount()) : newCommandQueue();
}

}  // namespace MTL
