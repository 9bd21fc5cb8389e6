#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <Metal/Metal.hpp>

#include "mlxn/base/result.h"
#include "mlxn/core/device/counters.h"
#include "mlxn/core/device/options.h"
#include "mlxn/core/memory/buffer.h"
#include "mlxn/core/profile/profile.h"

namespace mlxn {

class BufferPool;
class CommandEncoder;
class Context;
class EncoderSession;
class GraphSession;
class KernelRegistry;
class Queue;
struct GraphSessionOptions;

struct DeviceLimits {
  uint64_t max_buffer_length = 0;
  uint64_t recommended_working_set = 0;  // bytes
  uint64_t max_threadgroup_memory = 0;
  uint32_t max_threads_per_threadgroup = 0;
  uint64_t max_inline_bytes = 4096;
  bool unified_memory = true;
  bool is_processor = false;       // kernels run on the machine's processor
  bool dispatch_sampling = false;  // timestamps around single dispatches
};

// A GPU with a command queue. A cheap handle: copies, and all that is made from it, share one
// context (counters, profile, residency, options). Thread-safe.
class Device {
 public:
  // The system's default device. kDeviceNotFound when there is none.
  static Result<Device> create(RuntimeOptions options = RuntimeOptions::from_settings());
  // Moving copies: no handle is ever empty.
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;

  // Around a Metal device made elsewhere, which is retained.
  static Result<Device> wrap(MTL::Device* device,
                             RuntimeOptions options = RuntimeOptions::from_settings());
  // The same context with a command queue of its own.
  Result<Device> with_new_queue() const;

  std::string name() const;
  const DeviceLimits& limits() const;
  const RuntimeOptions& options() const;
  uint64_t id() const;  // of the context; buffers of another one cannot be bound
  bool residency_enabled() const;
  MTL::Device* metal_device() const;  // borrowed
  MTL::CommandQueue* metal_queue() const;

  // New zero-filled memory of exactly the size that dtype and shape need.
  Result<Buffer> alloc(Dtype dtype, Shape shape, StorageMode mode = StorageMode::kShared) const;
  // As alloc; `byte_len` must be what dtype and shape need.
  Result<Buffer> alloc_buffer(uint64_t byte_len, Dtype dtype, Shape shape) const;
  // For loaders that overwrite all of it: contents are whatever the system gives.
  Result<Buffer> alloc_uninit(Dtype dtype, Shape shape,
                              StorageMode mode = StorageMode::kShared) const;
  // Host memory as a buffer, without a copy. The address must be a multiple of the page size; all
  // of the last page must be there. `owner` is kept until the last use is over; with an empty one
  // the caller keeps the memory.
  Result<Buffer> wrap_host_memory(void* bytes, uint64_t byte_len, Dtype dtype, Shape shape,
                                  std::shared_ptr<void> owner = nullptr) const;
  // A Metal buffer of the same device made elsewhere, which is retained.
  Result<Buffer> wrap_metal_buffer(MTL::Buffer* buffer, Dtype dtype, Shape shape) const;

  // Copies between the host and a buffer of any storage mode; sizes must be equal. Blocks until
  // done. The caller sees to it that nothing in flight uses the buffer.
  Status upload(std::span<const std::byte> bytes, const Buffer& buffer) const;
  Status download(const Buffer& buffer, std::span<std::byte> bytes) const;

  Result<CommandEncoder> command_encoder() const;
  Result<EncoderSession> encoder_session() const;
  Result<GraphSession> graph_session() const;
  Result<GraphSession> graph_session(const GraphSessionOptions& options) const;

  // Waits until nothing that was committed is left, on any queue of this context. Returns the first
  // failure that no wait has returned before.
  Status synchronize() const;

  // Since the device was made; take two and subtract.
  Counters counters() const;
  Profile& profile() const;
  // Shared by all users of the device: for kernels under names that are known everywhere. Who wants
  // names of their own makes a registry of their own.
  KernelRegistry& kernels() const;

  std::string to_string() const;  // "Device(name)"

  // For the other parts of the library.
  const std::shared_ptr<Context>& context() const { return context_; }
  const std::shared_ptr<Queue>& queue() const { return queue_; }

 private:
  Device(std::shared_ptr<Context> context, std::shared_ptr<Queue> queue);

  std::shared_ptr<Context> context_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace mlxn
