// Graphs: recorded dispatches that can be optimised and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/captured_node.h"
#include "mlxn/core/graph/fusion.h"
#include "mlxn/core/graph/replay.h"

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

  // Applies rules, each to the outcome of those before it, where that changes nothing that can be
  // seen: results that are no longer written must be dead or temporary, and what lies between the
  // dispatches that are joined must be independent of them. On error the graph is unchanged.
  Result<FusionStats> fuse(ArrayRef<FusionRule> rules, const Device& device);

  // Pulls independent dispatches forward, so that fewer barriers are needed: never over a
  // dispatch it has a hazard with, an unannotated one or a recorded barrier. The search for them
  // ends at the next op that says so (OpTag::ends_look_ahead).
  ReorderStats reorder();

  // Cuts the graph for two command buffers: behind dispatch number max(64, a tenth of all).
  std::pair<Graph, Graph> split() const;

  Result<std::shared_ptr<ReplayPlan>> prepare(const Device& device) const {
    return ReplayPlan::create(device, nodes_);
  }
  // Prepares and replays once. Returns the number of barriers emitted.
  Result<size_t> encode(ComputeEncoder& encoder) const;

 private:
  std::vector<CapturedNode> nodes_;
  std::vector<BufferRange> temporaries_;
};

}  // namespace mlxn
