#include "mlxn/core/graph/fusion.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "mlxn/base/strings.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/graph/internal/graph_recorder.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

using Nodes = std::vector<CapturedNode>;

bool contains(const BufferRange& outer, const BufferRange& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool overlaps(const BufferRange& a, const BufferRange& b) {
  return a.begin < b.end && b.begin < a.end;
}

bool covered(const std::vector<BufferRange>& by, const BufferRange& range) {
  return std::ranges::any_of(by, [&](const BufferRange& one) { return contains(one, range); });
}

bool conflict(const CapturedNode& a, const CapturedNode& b) {
  if (!a.annotated || !b.annotated) return true;
  for (const BufferRange& one : a.accesses) {
    for (const BufferRange& other : b.accesses) {
      if (one.conflicts_with(other)) return true;
    }
  }
  return false;
}

BufferRange range_of(const RecordedBinding& binding) {
  const uint64_t begin = binding.storage->address + binding.offset;
  return {begin, begin + binding.length, MemRangeRole::kDst};
}

const Storage* storage_of(const CapturedNode& node, const BufferRange& range) {
  for (const RecordedBinding& binding : node.bindings) {
    if (binding.storage && contains(range_of(binding), range)) return binding.storage.get();
  }
  return nullptr;
}

// Allocations that nothing but these nodes refers to.
std::unordered_set<const Storage*> private_storages(const Nodes& nodes) {
  std::unordered_map<const Storage*, std::pair<long, long>> references;  // here, in all
  for (const CapturedNode& node : nodes) {
    for (const RecordedBinding& binding : node.bindings) {
      if (!binding.storage) continue;
      auto& [here, all] = references[binding.storage.get()];
      ++here;
      all = binding.storage.use_count();
    }
  }
  std::unordered_set<const Storage*> out;
  for (const auto& [storage, count] : references) {
    if (count.first == count.second) out.insert(storage);
  }
  return out;
}

// The operands, not the machine, are why an op would say so.
bool is_refusal(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kOutOfRange ||
         code == ErrorCode::kShapeMismatch || code == ErrorCode::kDtypeMismatch;
}

// Applies rules to a list of nodes. Matches of one rule are all found on the list as it is; then
// the list is made anew.
class Fuser {
 public:
  Fuser(const Nodes& nodes, const std::vector<BufferRange>& temporaries, const Device& device)
      : private_(private_storages(nodes)),
        nodes_(nodes),
        temporaries_(temporaries),
        device_(device) {}

  Result<size_t> apply(const FusionRule& rule);
  Nodes take() && { return std::move(nodes_); }

 private:
  // Places in the list, the last one at the end.
  using Joined = std::vector<size_t>;

  Result<bool> try_at(const FusionRule& rule, size_t last);
  std::optional<Joined> joined(const FusionMatch& match, size_t last) const;
  bool may_meet(const Joined& joined) const;
  Result<std::optional<CapturedNode>> encode(const FusionMatch& match) const;
  bool does_the_same(const CapturedNode& fused, const Joined& joined) const;
  bool is_dead_after(size_t last, const CapturedNode& writer, const BufferRange& written) const;
  bool is_temporary(const CapturedNode& writer, const BufferRange& written) const;
  void rebuild();

  const std::unordered_set<const Storage*> private_;
  Nodes nodes_;
  const std::vector<BufferRange>& temporaries_;
  const Device& device_;
  std::vector<std::optional<CapturedNode>> fused_;  // in the place of a last one
  std::vector<bool> gone_;                          // joined into another, or a barrier between
};

Result<size_t> Fuser::apply(const FusionRule& rule) {
  fused_.assign(nodes_.size(), std::nullopt);
  gone_.assign(nodes_.size(), false);
  size_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].is_barrier || !nodes_[i].annotated || nodes_[i].op.name != rule.op) continue;
    MLXN_ASSIGN(const bool fused, try_at(rule, i));
    count += fused;
  }
  if (count > 0) rebuild();
  return count;
}

Result<bool> Fuser::try_at(const FusionRule& rule, size_t last) {
  const auto match = rule.match(FusionSite(nodes_, last));
  if (!match) return false;
  const auto places = joined(*match, last);
  if (!places || !may_meet(*places)) return false;
  MLXN_ASSIGN(std::optional<CapturedNode> fused, encode(*match));
  if (!fused || !does_the_same(*fused, *places)) return false;
  std::string label;
  for (const size_t at : *places) {
    if (!label.empty()) label += "+";
    label += nodes_[at].label;
    gone_[at] = true;
  }
  if (label.size() >= places->size()) fused->label = label;  // more than the signs between
  for (size_t i = places->front(); i < last; ++i) gone_[i] = gone_[i] || nodes_[i].is_barrier;
  fused_[last] = std::move(fused);
  return true;
}

// Empty when a dispatch is taken already, not known, or there twice.
std::optional<Fuser::Joined> Fuser::joined(const FusionMatch& match, size_t last) const {
  Joined out;
  for (const CapturedNode* node : match.producers) {
    out.push_back(static_cast<size_t>(node - nodes_.data()));
  }
  std::ranges::sort(out);
  out.push_back(last);
  if (std::ranges::adjacent_find(out) != out.end()) return std::nullopt;
  for (const size_t at : out) {
    if (gone_[at] || !nodes_[at].annotated) return std::nullopt;
  }
  return out;
}

// Whether all can run where the last one is: nothing that stays between them conflicts with those
// that move, which also do not wait for each other. A recorded barrier between is no hindrance when
// nothing else is.
bool Fuser::may_meet(const Joined& joined) const {
  const size_t last = joined.back();
  bool barrier = false, others = false;
  for (size_t i = joined.front(); i < last; ++i) {
    if (nodes_[i].is_barrier) {
      barrier = true;
      continue;
    }
    others |= std::ranges::find(joined, i) == joined.end();
    for (const size_t mover : joined) {
      if (mover < i && conflict(nodes_[mover], nodes_[i])) return false;
    }
  }
  return !(barrier && others);
}

Result<std::optional<CapturedNode>> Fuser::encode(const FusionMatch& match) const {
  GraphRecorder recorder(device_);
  const Status status = match.encode(recorder);
  if (!status) {
    if (is_refusal(status.error().code())) return std::nullopt;
    return status.error();
  }
  Nodes made = *recorder.take_capture();
  if (made.size() != 1 || !made[0].annotated) {
    return Error(ErrorCode::kInternal, str("a fusion made ", made.size(),
                                           " dispatches, expected one that declares its accesses"));
  }
  const MTL::Size size = made[0].threadgroup, wanted = match.threadgroup;
  if (size.width != wanted.width || size.height != wanted.height || size.depth != wanted.depth) {
    return std::nullopt;
  }
  return std::move(made[0]);
}

// Whether the one touches nothing that the others did not, reads what was there before them, and
// leaves out only results that nobody wants.
bool Fuser::does_the_same(const CapturedNode& fused, const Joined& joined) const {
  std::vector<BufferRange> reads, writes;
  for (const size_t at : joined) {
    for (const BufferRange& one : nodes_[at].accesses) {
      (one.role == MemRangeRole::kSrc ? reads : writes).push_back(one);
    }
  }
  const std::vector<BufferRange> fused_reads = fused.reads(), fused_writes = fused.writes();
  const auto all_covered = [](const auto& ranges, const auto& by) {
    return std::ranges::all_of(ranges, [&](const BufferRange& one) { return covered(by, one); });
  };
  if (!all_covered(fused_reads, reads) || !all_covered(fused_writes, writes)) return false;
  for (const size_t at : joined) {
    const CapturedNode& node = nodes_[at];
    for (const BufferRange& write : node.writes()) {
      // A producer's result is no operand, unless the producer works in place.
      for (const BufferRange& read : fused_reads) {
        if (at != joined.back() && overlaps(write, read) && !covered(node.reads(), read)) {
          return false;
        }
      }
      if (!covered(fused_writes, write) && !is_dead_after(joined.back(), node, write)) return false;
    }
  }
  return true;
}

// Nobody outside can look: the caller said so, or the graph holds the only references.
bool Fuser::is_temporary(const CapturedNode& writer, const BufferRange& written) const {
  return covered(temporaries_, written) || private_.contains(storage_of(writer, written));
}

// Whether what was written there is overwritten before anything behind `last` reads it. The graph
// may run again, so behind its end comes its beginning.
bool Fuser::is_dead_after(size_t last, const CapturedNode& writer,
                          const BufferRange& written) const {
  for (size_t step = 1; step <= nodes_.size(); ++step) {
    const size_t at = (last + step) % nodes_.size();
    if (at == 0 && !is_temporary(writer, written)) return false;
    const CapturedNode& node = nodes_[at];
    if (node.is_barrier) continue;
    if (!node.annotated) return false;
    bool overwritten = false;
    for (const BufferRange& access : node.accesses) {
      if (!overlaps(access, written)) continue;
      if (access.role == MemRangeRole::kSrc) return false;
      overwritten |= access.role == MemRangeRole::kDst && contains(access, written);
    }
    if (overwritten) return true;
  }
  return true;
}

void Fuser::rebuild() {
  Nodes out;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (fused_[i]) {
      out.push_back(std::move(*fused_[i]));
    } else if (!gone_[i]) {
      out.push_back(std::move(nodes_[i]));
    } else if (nodes_[i].is_barrier && !out.empty() && !out.back().is_barrier) {
      out.push_back(std::move(nodes_[i]));  // it still orders what was before against the rest
    }
  }
  nodes_ = std::move(out);
}

}  // namespace

const CapturedNode* FusionSite::producer(uint32_t slot) const {
  const RecordedBinding* operand = last().binding(slot);
  if (!operand || !operand->storage) return nullptr;
  const BufferRange range = range_of(*operand);
  for (size_t i = last_; i-- > 0;) {
    const CapturedNode& node = nodes_[i];
    if (node.is_barrier) continue;
    if (!node.annotated) return nullptr;
    for (const BufferRange& write : node.writes()) {
      if (write.begin == range.begin && write.end == range.end) return &node;
      if (overlaps(write, range)) return nullptr;
    }
  }
  return nullptr;
}

size_t FusionStats::total() const {
  size_t sum = 0;
  for (const FusionCount& rule : rules) sum += rule.count;
  return sum;
}

Result<FusionStats> Graph::fuse(ArrayRef<FusionRule> rules, const Device& device) {
  Fuser fuser(nodes_, temporaries_, device);
  FusionStats stats;
  for (const FusionRule& rule : rules) {
    MLXN_ASSIGN(const size_t count, fuser.apply(rule));
    stats.rules.push_back({rule.name, count});
  }
  nodes_ = std::move(fuser).take();
  return stats;
}

}  // namespace mlxn
