#include "mlxn/core/encode/dispatch.h"

#include "mlxn/core/graph/captured_node.h"

namespace mlxn {
namespace {

std::vector<BufferRange> with_role(const std::vector<BufferRange>& all, MemRangeRole role) {
  std::vector<BufferRange> out;
  for (const BufferRange& range : all) {
    if (range.role == role) out.push_back(range);
  }
  return out;
}

}  // namespace

std::vector<BufferRange> CapturedNode::reads() const {
  return with_role(accesses, MemRangeRole::kSrc);
}

std::vector<BufferRange> CapturedNode::writes() const {
  return with_role(accesses, MemRangeRole::kDst);
}

const RecordedBinding* CapturedNode::binding(uint32_t slot) const {
  for (const RecordedBinding& one : bindings) {
    if (one.slot == slot) return &one;
  }
  return nullptr;
}

}  // namespace mlxn
