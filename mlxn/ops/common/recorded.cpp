#include "mlxn/ops/common/recorded.h"

namespace mlxn {

std::optional<Dtype> recorded_dtype(const CapturedNode& node, std::string_view stem) {
  const std::string_view name = node.pipeline ? node.pipeline.name() : std::string_view();
  if (!name.starts_with(stem)) return std::nullopt;
  const auto dtype = parse_dtype(name.substr(stem.size()));
  return dtype ? std::optional(*dtype) : std::nullopt;
}

std::optional<Buffer> recorded_buffer(const CapturedNode& node, uint32_t slot, Dtype dtype,
                                      const Shape& shape) {
  const RecordedBinding* found = node.binding(slot);
  const auto bytes = size_bytes(dtype, shape);
  if (!found || !found->storage || !bytes || found->length != *bytes) return std::nullopt;
  return Buffer(found->storage, found->offset, found->length, dtype, shape);
}

bool same_bytes(const Buffer& a, const Buffer& b) {
  return a.storage() == b.storage() && a.byte_offset() == b.byte_offset() &&
         a.byte_len() == b.byte_len();
}

bool has_grid(const CapturedNode& node, DispatchKind kind, uint64_t width, uint64_t height) {
  const MTL::Size grid = node.grid;
  return node.kind == kind && grid.width == width && grid.height == height && grid.depth == 1;
}

}  // namespace mlxn
