// Fusion of a norm with the multiplication of its result.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "mlxn/base/strings.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/memory/internal/storage.h"

namespace mlxn {
namespace {

// Slots of the kernels involved.
constexpr uint32_t kNormInput = 0, kNormWeight = 1, kNormOutput = 2, kNormParams = 3;
constexpr uint32_t kMulA = 0, kMulB = 1, kMulOutput = 2, kMulParams = 3;
constexpr uint32_t kFusedInput = 0, kFusedWeight = 1, kFusedScale = 2, kFusedOutput = 3,
                   kFusedParams = 4;

std::optional<std::string> fused_kernel(const CapturedNode& norm) {
  const std::string& name = norm.pipeline.name();
  for (std::string_view type : {"f32", "f16", "bf16"}) {
    if (name == str("rms_norm_", type)) return str("rms_norm_mul_", type);
  }
  return std::nullopt;
}

BufferRange range_of(const RecordedBinding& binding, MemRangeRole role) {
  const uint64_t begin = binding.storage->address + binding.offset;
  return {begin, begin + binding.length, role};
}

bool overlaps(const RecordedBinding& a, const RecordedBinding& b) {
  return range_of(a, MemRangeRole::kDst).conflicts_with(range_of(b, MemRangeRole::kDst));
}

bool same(const RecordedBinding& a, const RecordedBinding& b) {
  return a.storage == b.storage && a.offset == b.offset && a.length == b.length;
}

const RecordedBinding* buffer_at(const CapturedNode& node, uint32_t slot) {
  const RecordedBinding* found = node.binding(slot);
  return found && found->storage ? found : nullptr;
}

struct Match {
  std::string kernel;
  const RecordedBinding *input, *weight, *normed, *params, *scale, *output;
};

template <class T>
std::optional<T> inline_value(const CapturedNode& node, uint32_t slot, size_t offset) {
  const RecordedBinding* found = node.binding(slot);
  if (!found || found->storage || found->bytes.size() < offset + sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, found->bytes.data() + offset, sizeof(T));
  return value;
}

// Whether both kernels work on exactly the bytes of the norm's output: params of the norm are eps
// and dim, with a threadgroup for each row; the first of the multiply's is the element count.
bool covers_output(const CapturedNode& norm, const CapturedNode& mul, uint64_t bytes) {
  const uint64_t element = norm.pipeline.name().ends_with("_f32") ? 4 : 2;
  const auto dim = inline_value<float>(norm, kNormParams, sizeof(float));
  const auto count = inline_value<uint32_t>(mul, kMulParams, 0);
  if (!dim || !(*dim >= 1) || !count || norm.kind != DispatchKind::kThreadgroups) return false;
  const MTL::Size grid = norm.grid;
  if (grid.height != 1 || grid.depth != 1) return false;
  const uint64_t elements = bytes / element;
  return bytes % element == 0 && *count == elements &&
         grid.width == elements / static_cast<uint64_t>(*dim) &&
         elements % static_cast<uint64_t>(*dim) == 0;
}

// Operands, sizes and overlaps; whether the result in between is needed is asked elsewhere.
std::optional<Match> match(const CapturedNode& norm, const CapturedNode& mul) {
  if (norm.op_kind != OpKind::kRmsNorm || mul.op_kind != OpKind::kElemMul) return std::nullopt;
  if (!norm.annotated || !mul.annotated) return std::nullopt;
  const auto kernel = fused_kernel(norm);
  if (!kernel) return std::nullopt;
  Match m{*kernel,
          buffer_at(norm, kNormInput),
          buffer_at(norm, kNormWeight),
          buffer_at(norm, kNormOutput),
          norm.binding(kNormParams),
          nullptr,
          buffer_at(mul, kMulOutput)};
  const RecordedBinding *a = buffer_at(mul, kMulA), *b = buffer_at(mul, kMulB);
  if (!m.input || !m.weight || !m.normed || !m.params || !m.output || !a || !b) return std::nullopt;
  if (same(*a, *m.normed) == same(*b, *m.normed)) return std::nullopt;  // neither, or both
  m.scale = same(*a, *m.normed) ? b : a;
  // The whole result is multiplied, element by element.
  if (m.scale->length != m.normed->length || m.output->length != m.normed->length) {
    return std::nullopt;
  }
  if (!covers_output(norm, mul, m.normed->length)) return std::nullopt;
  if (overlaps(*m.scale, *m.normed)) return std::nullopt;
  // The joint kernel writes the output while it still reads the rest.
  for (const RecordedBinding* read : {m.input, m.scale}) {
    if (overlaps(*m.output, *read) && !same(*m.output, *read)) return std::nullopt;
  }
  if (overlaps(*m.output, *m.weight)) return std::nullopt;
  return m;
}

struct Pair {
  size_t norm, mul;
  Match match;
  Pipeline pipeline;
};

CapturedNode fuse_nodes(const CapturedNode& norm, const CapturedNode& mul, const Match& m,
                        Pipeline pipeline) {
  CapturedNode fused = norm;
  fused.pipeline = std::move(pipeline);
  fused.op_kind = OpKind::kOther;
  fused.bindings.clear();
  const auto bind = [&](uint32_t slot, const RecordedBinding* from) {
    fused.bindings.push_back(*from);
    fused.bindings.back().slot = slot;
  };
  bind(kFusedInput, m.input);
  bind(kFusedWeight, m.weight);
  bind(kFusedScale, m.scale);
  bind(kFusedOutput, m.output);
  bind(kFusedParams, m.params);
  fused.accesses = norm.reads();
  for (const BufferRange& read : mul.reads()) {
    if (read != range_of(*m.normed, MemRangeRole::kSrc)) fused.accesses.push_back(read);
  }
  for (const BufferRange& write : mul.writes()) fused.accesses.push_back(write);
  if (!norm.label.empty() || !mul.label.empty()) fused.label = str(norm.label, "+", mul.label);
  return fused;
}

}  // namespace

// Nobody outside can look: the caller said so, or the graph holds the only references.
bool Graph::is_temporary(const RecordedBinding& written) const {
  const BufferRange range = range_of(written, MemRangeRole::kDst);
  for (const BufferRange& temporary : temporaries_) {
    if (temporary.begin <= range.begin && range.end <= temporary.end) return true;
  }
  long references = 0;
  for (const CapturedNode& node : nodes_) {
    for (const RecordedBinding& binding : node.bindings) {
      references += binding.storage == written.storage;
    }
  }
  return written.storage.use_count() == references;
}

// Whether the value written there is overwritten before anything reads it. The graph may run again,
// so behind its end comes its beginning, up to the node itself.
bool Graph::is_dead_after(size_t node, const RecordedBinding& written) const {
  const BufferRange range = range_of(written, MemRangeRole::kDst);
  bool wrapped = false;
  for (size_t step = 1; step <= nodes_.size(); ++step) {
    const size_t at = (node + step) % nodes_.size();
    if (at <= node && !wrapped) {
      wrapped = true;
      if (!is_temporary(written)) return false;
    }
    if (nodes_[at].is_barrier) continue;
    bool overwritten = false;
    for (const BufferRange& access : nodes_[at].accesses) {
      if (access.role == MemRangeRole::kSrc && access.conflicts_with(range)) return false;
      if (access.role == MemRangeRole::kDst && access.conflicts_with(range)) {
        if (!nodes_[at].annotated) return false;
        overwritten |= access.begin <= range.begin && range.end <= access.end;
      }
    }
    if (overwritten) return true;
  }
  return true;
}

Result<size_t> Graph::fuse(KernelRegistry& registry, const Device& device) {
  // Decided on the graph as it is, then built: copies of nodes would look like outside references.
  std::vector<Pair> pairs;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    size_t j = i + 1;
    while (j < nodes_.size() && nodes_[j].is_barrier) ++j;
    if (nodes_[i].is_barrier || j >= nodes_.size()) continue;
    const auto found = match(nodes_[i], nodes_[j]);
    // In place, the multiply itself overwrites the result of the norm.
    if (!found || !(same(*found->output, *found->normed) || is_dead_after(j, *found->normed))) {
      continue;
    }
    MLXN_ASSIGN(Pipeline pipeline, registry.get_pipeline(found->kernel, device));
    pairs.push_back({i, j, *found, std::move(pipeline)});
    i = j;
  }
  std::vector<CapturedNode> out;
  auto pair = pairs.begin();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (pair == pairs.end() || pair->norm != i) {
      out.push_back(nodes_[i]);
      continue;
    }
    // Recorded barriers in between go in front: they still order what was before against the rest.
    if (pair->mul > i + 1 && !out.empty()) out.push_back(nodes_[i + 1]);
    out.push_back(fuse_nodes(nodes_[i], nodes_[pair->mul], pair->match, pair->pipeline));
    i = pair->mul;
    ++pair;
  }
  nodes_ = std::move(out);
  return pairs.size();
}

}  // namespace mlxn
