// Graphs: recorded dispatches that can be optimised and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/captured_node.h"
#include "mlxn/core/graph/replay.h"
#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

struct ReorderStats {
  size_t moved = 0;      // dispatches pulled in front of others
  size_t displaced = 0;  // positions that hold another dispatch than before
};

// A list of recorded dispatches and barriers. Barriers that follow from accesses are not stored:
// every replay derives them. A recorded barrier is an order the caller asks for, and all passes
// keep it. One user at a time.
class Graph {
 public:
  Graph() = default;
  explicit Graph(std::vector<CapturedNode> nodes) : nodes_(std::move(nodes)) {}

  void record(CapturedNode node) { nodes_.push_back(std::move(node)); }
  size_t len() const { return nodes_.size(); }
  bool is_empty() const { return nodes_.empty(); }
  size_t dispatch_count() const { return nodes_.size() - barrier_count(); }
  size_t barrier_count() const;  // recorded ones
  // Dispatches whose accesses are not known. They stay where they are and nothing passes them.
  size_t unannotated_dispatch_count() const;
  const std::vector<CapturedNode>& nodes() const { return nodes_; }
  std::vector<CapturedNode> into_nodes() && { return std::move(nodes_); }

  // Says that nobody reads this buffer's contents after the graph has run. Memory that only the
  // graph holds counts as such by itself.
  void mark_temporary(const Buffer& buffer);

  // Joins a norm and the multiplication of its result (rms_norm_<t> followed by an elementwise
  // multiply) into one dispatch of rms_norm_mul_<t>, where that changes nothing that can be seen:
  // the result in between must be dead or temporary, operands and sizes must match exactly, and
  // nothing may overlap by part. Returns the number of fusions; on error the graph is unchanged.
  Result<size_t> fuse(KernelRegistry& registry, const Device& device);

  // Pulls independent dispatches forward, so that fewer barriers are needed: never over a
  // dispatch it has a hazard with, an unannotated one or a recorded barrier. The search for them
  // ends at the next attention or softmax.
  ReorderStats reorder();

  // Cuts the graph for two command buffers: behind dispatch number max(64, a tenth of all).
  std::pair<Graph, Graph> split() const;

  Result<std::shared_ptr<ReplayPlan>> prepare(const Device& device) const {
    return ReplayPlan::create(device, nodes_);
  }
  // Prepares and replays once. Returns the number of barriers emitted.
  Result<size_t> encode(ComputeEncoder& encoder) const;

 private:
  bool is_dead_after(size_t node, const RecordedBinding& written) const;
  bool is_temporary(const RecordedBinding& written) const;

  std::vector<CapturedNode> nodes_;
  std::vector<BufferRange> temporaries_;
};

}  // namespace mlxn
