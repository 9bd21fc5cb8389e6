// The one description of a dispatch that every way of encoding fills in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mlxn/base/array_ref.h"
#include "mlxn/core/encode/mem_ranges.h"
#include "mlxn/core/kernels/pipeline.h"
#include "mlxn/core/memory/buffer.h"

namespace mlxn {

inline constexpr uint32_t kMaxBufferSlots = 31;
inline constexpr uint64_t kMaxInlineBytes = 4096;

enum class DispatchKind {
  kThreads,       // the grid counts threads
  kThreadgroups,  // the grid counts threadgroups
};

// What work a dispatch does, for fusion, reordering and profiles. Ops choose their names.
struct OpTag {
  std::string_view name = "Other";  // a literal: recorded dispatches point to it
  bool ends_look_ahead = false;     // the reorder pass does not look past it
  friend bool operator==(const OpTag&, const OpTag&) = default;
};

// The bytes of a plain value, laid out as the kernel's struct.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::span<const std::byte> as_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// What is bound to a slot: a buffer from its own start, a buffer from an offset within it, or bytes
// that are copied.
struct KernelArg {
  KernelArg(const Buffer* b) : buffer(b) {}
  KernelArg(const Buffer& b) : buffer(&b) {}
  KernelArg(const Buffer& b, uint64_t byte_offset) : buffer(&b), offset(byte_offset) {}
  KernelArg(std::span<const std::byte> b) : bytes(b) {}

  const Buffer* buffer = nullptr;
  uint64_t offset = 0;  // within the buffer, so a view's own offset is never lost
  std::span<const std::byte> bytes;
};

struct Binding {
  uint32_t slot;
  KernelArg arg;
};

struct ThreadgroupMemory {
  uint32_t index;
  uint64_t bytes;
};
// Metal takes threadgroup memory in whole 16 bytes.
inline uint64_t threadgroup_bytes(uint64_t bytes) {
  return (bytes + 15) & ~uint64_t{15};
}

struct Dispatch {
  const Pipeline& pipeline;
  ArrayRef<Binding> bindings;
  MTL::Size grid = {1, 1, 1};
  MTL::Size threadgroup = {1, 1, 1};
  DispatchKind kind = DispatchKind::kThreadgroups;
  ArrayRef<ThreadgroupMemory> threadgroup_memory = {};
  // Accesses. When `declared`, `reads` and `writes` are all of them; else they follow from the
  // kernel's reflection: every bound slot is read, and written unless it is const.
  bool declared = false;
  ArrayRef<const Buffer*> reads = {};
  ArrayRef<const Buffer*> writes = {};
  OpTag op = {};
  std::string_view label = {};  // for profiles; empty: the kernel's name
};

}  // namespace mlxn
