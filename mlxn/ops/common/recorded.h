// Recorded dispatches read back, for fusion rules. A node may have been made by hand, so nothing is
// taken for granted: what does not fit gives nothing.
#pragma once

#include <cstring>
#include <optional>
#include <string_view>

#include "mlxn/core/graph/captured_node.h"

namespace mlxn {

// The dtype that ends a kernel's name behind its stem: f16 for "rms_norm_f16" and "rms_norm_".
std::optional<Dtype> recorded_dtype(const CapturedNode& node, std::string_view stem);

// The buffer at a slot, when its bytes are exactly those of this dtype and shape.
std::optional<Buffer> recorded_buffer(const CapturedNode& node, uint32_t slot, Dtype dtype,
                                      const Shape& shape);

// The inline bytes at a slot.
template <class Args>
std::optional<Args> recorded_args(const CapturedNode& node, uint32_t slot) {
  const RecordedBinding* found = node.binding(slot);
  if (!found || found->storage || found->bytes.size() != sizeof(Args)) return std::nullopt;
  Args args;
  std::memcpy(&args, found->bytes.data(), sizeof(Args));
  return args;
}

// Both are the same part of the same allocation.
bool same_bytes(const Buffer& a, const Buffer& b);

// Whether the grid is this many of `kind` along one dimension.
bool has_grid(const CapturedNode& node, DispatchKind kind, uint64_t width, uint64_t height = 1);

}  // namespace mlxn
