#include "mlxn/core/graph/graph.h"

#include <algorithm>

namespace mlxn {
namespace {

constexpr size_t kFirstPartMinimum = 64, kFirstPartFraction = 10;
constexpr size_t kReorderWindow = 64;  // dispatches looked at from the one that must wait

// A recorded barrier is ordered against everything.
std::vector<BufferRange> ordering(const CapturedNode& node) {
  if (node.is_barrier || !node.annotated) return {BufferRange::everything()};
  return node.accesses;
}

}  // namespace

size_t Graph::barrier_count() const {
  return static_cast<size_t>(std::count_if(nodes_.begin(), nodes_.end(),
                                           [](const CapturedNode& n) { return n.is_barrier; }));
}

size_t Graph::unannotated_dispatch_count() const {
  return static_cast<size_t>(
      std::count_if(nodes_.begin(), nodes_.end(),
                    [](const CapturedNode& node) { return !node.is_barrier && !node.annotated; }));
}

void Graph::mark_temporary(const Buffer& buffer) {
  temporaries_.push_back(BufferRange::from_buffer(buffer, MemRangeRole::kDst));
}

Result<size_t> Graph::encode(ComputeEncoder& encoder) const {
  MLXN_ASSIGN(auto plan, prepare(encoder.device()));
  MLXN_TRY(encoder.replay(plan));
  return plan->barrier_count();
}

std::pair<Graph, Graph> Graph::split() const {
  const size_t first = std::max(kFirstPartMinimum, dispatch_count() / kFirstPartFraction);
  size_t dispatches = 0, cut = 0;
  while (cut < nodes_.size() && dispatches < first) dispatches += !nodes_[cut++].is_barrier;
  const auto middle = nodes_.begin() + static_cast<ptrdiff_t>(cut);
  std::pair<Graph, Graph> out{Graph(std::vector(nodes_.begin(), middle)),
                              Graph(std::vector(middle, nodes_.end()))};
  out.first.temporaries_ = out.second.temporaries_ = temporaries_;
  return out;
}

// Groups grow from the front. When the next dispatch in order must wait for the group, later ones
// that conflict neither with the group nor with anything they would pass join it first.
ReorderStats Graph::reorder() {
  const size_t count = nodes_.size();
  std::vector<std::vector<BufferRange>> accesses;
  accesses.reserve(count);
  for (const CapturedNode& node : nodes_) accesses.push_back(ordering(node));
  std::vector<size_t> order;
  std::vector<bool> used(count, false);
  MemRanges group;
  ReorderStats stats;
  for (size_t i = 0; i < count; ++i) {
    if (used[i]) continue;
    if (!group.check(accesses[i])) {
      MemRanges passed;
      passed.add(accesses[i]);
      const size_t end = std::min(i + kReorderWindow, count);
      for (size_t j = i + 1; j < end; ++j) {
        if (used[j]) continue;
        if (nodes_[j].op.ends_look_ahead) break;
        if (group.check(accesses[j]) && passed.check(accesses[j])) {
          order.push_back(j);
          used[j] = true;
          group.add(accesses[j]);
          ++stats.moved;
        } else {
          passed.add(accesses[j]);
        }
      }
      group.reset();
    }
    group.add(accesses[i]);
    order.push_back(i);
  }
  std::vector<CapturedNode> sorted;
  sorted.reserve(count);
  for (size_t p = 0; p < count; ++p) {
    stats.displaced += order[p] != p;
    sorted.push_back(std::move(nodes_[order[p]]));
  }
  nodes_ = std::move(sorted);
  return stats;
}

}  // namespace mlxn
