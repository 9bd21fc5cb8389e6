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

const char* to_string(OpKind kind) {
  switch (kind) {
    case OpKind::kRmsNorm: return "RmsNorm";
    case OpKind::kElemMul: return "ElemMul";
    case OpKind::kElemAdd: return "ElemAdd";
    case OpKind::kSdpa: return "Sdpa";
    case OpKind::kSoftmax: return "Softmax";
    case OpKind::kOther: return "Other";
  }
  return "Other";
}

bool is_reorderable(OpKind kind) {
  return kind != OpKind::kSdpa && kind != OpKind::kSoftmax;
}

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
