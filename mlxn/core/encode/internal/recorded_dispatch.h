// A recorded dispatch in the form that checks and encoders take. Internal.
#pragma once

#include <vector>

#include "mlxn/base/checked.h"
#include "mlxn/base/strings.h"
#include "mlxn/core/graph/captured_node.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {

// Points into the node.
class RecordedDispatch {
 public:
  // kOutOfRange when a binding lies outside of its allocation.
  static Result<RecordedDispatch> of(const CapturedNode& node) {
    RecordedDispatch out(node);
    out.buffers_.reserve(node.bindings.size());  // bindings point into it
    for (const RecordedBinding& one : node.bindings) {
      if (!one.storage) {
        out.bindings_.push_back({one.slot, KernelArg(std::span(one.bytes))});
        continue;
      }
      if (!span_fits(one.offset, one.length, one.storage->length)) {
        return Error(
            ErrorCode::kOutOfRange,
            str("slot ", one.slot, ": ", one.length, " bytes at offset ", one.offset,
                ", expected an end within the ", one.storage->length, " bytes of the allocation"));
      }
      out.buffers_.emplace_back(one.storage, one.offset, one.length, Dtype::kU8, Shape{one.length});
      out.bindings_.push_back({one.slot, KernelArg(out.buffers_.back())});
    }
    return out;
  }

  Dispatch dispatch() const {
    return {.pipeline = node_->pipeline,
            .bindings = bindings_,
            .grid = node_->grid,
            .threadgroup = node_->threadgroup,
            .kind = node_->kind,
            .threadgroup_memory = node_->threadgroup_memory,
            .op = node_->op,
            .label = node_->label};
  }

 private:
  explicit RecordedDispatch(const CapturedNode& node) : node_(&node) {}

  const CapturedNode* node_;
  std::vector<Buffer> buffers_;
  std::vector<Binding> bindings_;
};

}  // namespace mlxn
