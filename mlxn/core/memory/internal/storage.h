// One GPU allocation and what hangs on it. Internal; shared by buffers, views, recorded graphs and
// submissions in flight, so its end is the moment nothing can use the memory any more.
#pragma once

#include <atomic>
#include <memory>

#include <Metal/Metal.hpp>

#include "mlxn/core/memory/buffer.h"

namespace mlxn {

class Context;

class Storage {
 public:
  Storage(std::shared_ptr<Context> context, NS::SharedPtr<MTL::Buffer> buffer);
  // Stages the removal from the residency set.
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  // Stage the addition to the context's residency set, if it has one, and the removal. Idempotent
  // and thread-safe.
  void make_resident();
  void end_residency();

  const std::shared_ptr<Context> context;
  std::shared_ptr<void> owner;  // of wrapped host memory, or the pool's slot; outlives `buffer`
  const NS::SharedPtr<MTL::Buffer> buffer;
  std::byte* const host;  // null when private
  const uint64_t length;
  const uint64_t address;                    // in the address space of BufferRange
  std::atomic<bool> resident{false};         // a member of the residency set
  std::atomic<uint64_t> last_submission{0};  // the last one that took a reference
  std::atomic<uint32_t> in_flight{0};        // submissions that may be running on it, if checked
};

}  // namespace mlxn
