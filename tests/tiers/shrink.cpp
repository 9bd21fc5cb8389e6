#include "tests/tiers/shrink.h"

#include <utility>

namespace mlxn::tiers {
namespace {

enum class Change { kDrop, kUnwrap, kDropElse, kCount };

// Applies a change to the node with number `target` in reading order; false when it has no effect.
bool change_nodes(std::vector<Node>& nodes, int& target, Change change) {
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (target-- > 0) {
      if (change_nodes(nodes[i].body, target, change)) return true;
      if (change_nodes(nodes[i].otherwise, target, change)) return true;
      if (target < 0) return false;
      continue;
    }
    const auto at = nodes.begin() + static_cast<std::ptrdiff_t>(i);
    if (change == Change::kDrop) {
      nodes.erase(at);
      return true;
    }
    if (!at->compound) return false;
    if (change == Change::kDropElse) {
      if (at->otherwise.empty()) return false;
      at->otherwise.clear();
      return true;
    }
    std::vector<Node> inner = std::move(at->body);
    nodes.insert(nodes.erase(at), std::make_move_iterator(inner.begin()),
                 std::make_move_iterator(inner.end()));
    return true;
  }
  return false;
}

bool apply(Program& program, int target, Change change) {
  for (Helper& helper : program.helpers) {
    if (change_nodes(helper.body, target, change)) return true;
    if (target < 0) return false;
  }
  return change_nodes(program.body, target, change);
}

}  // namespace

Program shrink(const Program& program, const std::function<bool(const Program&)>& fails,
               int attempts) {
  Program best = program;
  for (bool better = true; better && attempts > 0;) {
    better = false;
    for (int change = 0; change < static_cast<int>(Change::kCount); ++change) {
      // Whole blocks come before what they hold. After a change, the number names another node.
      for (int i = 0; i < static_cast<int>(count_nodes(best)) && attempts > 0;) {
        Program smaller = best;
        if (!apply(smaller, i, static_cast<Change>(change)) || (--attempts, !fails(smaller))) {
          ++i;
          continue;
        }
        best = std::move(smaller);
        better = true;
      }
    }
  }
  return best;
}

}  // namespace mlxn::tiers
