// Fusion: rules that join dispatches of a graph into one. The rules lie beside the ops they are
// about; whoever optimises a graph hands them in.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "mlxn/base/array_ref.h"
#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/captured_node.h"

namespace mlxn {

// A dispatch of a graph that a rule is asked about, and those in front of it.
class FusionSite {
 public:
  FusionSite(ArrayRef<CapturedNode> nodes, size_t last) : nodes_(nodes), last_(last) {}

  const CapturedNode& last() const { return nodes_[last_]; }
  // The dispatch that made what is bound at a slot of `last`: the nearest one before it that writes
  // there, if those bytes are all it writes there. Null when there is none, or nobody can know.
  const CapturedNode* producer(uint32_t slot) const;

 private:
  ArrayRef<CapturedNode> nodes_;
  size_t last_;
};

// What a rule found: dispatches that one other does the work of.
struct FusionMatch {
  std::vector<const CapturedNode*> producers;  // and `last`
  // Encodes the one. When it refuses its operands, nothing is fused.
  std::function<Status(ComputeEncoder&)> encode;
  MTL::Size threadgroup;  // that it must have: the order of sums may depend on it
};

// A rule answers for the arithmetic: the same bits, wherever it matches. The graph sees to the
// rest: what the dispatches read and write, who reads what is no longer written, and what lies
// between them.
struct FusionRule {
  std::string_view name;
  std::string_view op;  // of `last`
  std::optional<FusionMatch> (*match)(const FusionSite&);
};

// How often each rule was applied, in the order of the rules.
struct FusionCount {
  std::string_view rule;
  size_t count;
};
struct FusionStats {
  std::vector<FusionCount> rules;
  size_t total() const;
};

}  // namespace mlxn
