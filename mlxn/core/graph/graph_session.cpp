#include "mlxn/core/graph/graph_session.h"

#include <algorithm>

#include "mlxn/base/clock.h"
#include "mlxn/base/log.h"
#include "mlxn/base/strings.h"

namespace mlxn {

Result<GraphSession> Device::graph_session() const {
  return GraphSession(*this, {});
}

Result<GraphSession> Device::graph_session(const GraphSessionOptions& options) const {
  return GraphSession(*this, options);
}

GraphSession::GraphSession(const Device& device, GraphSessionOptions options)
    : encoder_(device), gpu_trace_(GpuTrace::from_options(device)), begin_ns_(now_ns()) {
  if (options.record) encoder_.start_capture();
}

GraphSession::GraphSession(GraphSession&&) noexcept = default;
GraphSession::~GraphSession() = default;

void GraphSession::close_group() {
  if (open_group_ == 0) return;
  ++groups_.sizes[std::min<uint64_t>(open_group_, groups_.sizes.size()) - 1];
  open_group_ = 0;
}

Status GraphSession::barrier() {
  MLXN_TRY(encoder_.memory_barrier());
  close_group();
  ++groups_.barriers;
  return {};
}

Status GraphSession::barrier_between(ComputeEncoder::Buffers reads,
                                     ComputeEncoder::Buffers writes) {
  MLXN_ASSIGN(const bool needed, encoder_.barrier_between(reads, writes));
  if (needed) {
    close_group();
    ++groups_.barriers;
  }
  ++open_group_;
  ++groups_.dispatches;
  return {};
}

Status GraphSession::track_dispatch(ComputeEncoder::Buffers reads, ComputeEncoder::Buffers writes) {
  if (is_recording()) {
    encoder_.annotate_last_dispatch_if_missing(ranges_of(reads, {}), ranges_of({}, writes));
  }
  return encoder_.add_to_tracker(reads, writes);
}

GroupStats GraphSession::group_stats() const {
  GroupStats out = groups_;
  if (open_group_) ++out.sizes[std::min<uint64_t>(open_group_, out.sizes.size()) - 1];
  return out;
}

std::string GraphSession::dump_group_stats() const {
  const GroupStats stats = group_stats();
  std::string out = str(stats.dispatches, " dispatches, ", stats.barriers, " barriers; groups:");
  for (size_t i = 0; i < stats.sizes.size(); ++i) {
    out += str(" ", i + 1, i + 1 == stats.sizes.size() ? "+:" : ":", stats.sizes[i]);
  }
  return out;
}

std::optional<Graph> GraphSession::take_graph() {
  auto nodes = encoder_.take_capture();
  if (!nodes) return std::nullopt;
  Graph graph(std::move(*nodes));
  for (const Buffer& buffer : temporaries_) graph.mark_temporary(buffer);
  temporaries_.clear();
  return graph;
}

Status GraphSession::encode_graph(Graph graph, const FinishOptions& options) {
  stats_.unannotated = graph.unannotated_dispatch_count();
  MLXN_ASSIGN(stats_.fusions, graph.fuse(options.fuse, device()));
  if (options.reorder) {
    const ReorderStats reordered = graph.reorder();
    stats_.moved = reordered.moved;
    stats_.displaced = reordered.displaced;
    if (device().options().log_reorder) {
      log(LogLevel::kWarning, str("reorder: ", graph.len(), " nodes, ", reordered.moved, " moved, ",
                                  reordered.displaced, " displaced"));
    }
  }
  stats_.dispatches = graph.dispatch_count();
  if (!options.two_command_buffers) {
    MLXN_ASSIGN(stats_.barriers[0], graph.encode(encoder_));
    return {};
  }
  // Command buffers of one queue take effect in order, so the cut needs no barrier of its own.
  auto [front, back] = graph.split();
  first_.emplace(device());
  MLXN_ASSIGN(stats_.barriers[0], front.encode(*first_));
  MLXN_TRY(options.label.empty() ? first_->commit() : first_->commit_labeled(options.label + ".0"));
  encoder_ = CommandEncoder(device());
  MLXN_ASSIGN(stats_.barriers[1], back.encode(encoder_));
  return {};
}

Result<FinishStats> GraphSession::finish(const FinishOptions& options) {
  if (std::exchange(finished_, true)) {
    return Error(ErrorCode::kInvalidState, "finish: the session is already finished");
  }
  if (auto graph = take_graph()) {
    MLXN_TRY(encode_graph(std::move(*graph), options));
  }
  commit_ns_ = now_ns();
  stats_.encode_ns = commit_ns_ - begin_ns_;
  if (options.wait) {
    MLXN_TRY(options.label.empty() ? encoder_.commit_and_wait()
                                   : encoder_.commit_and_wait_labeled(options.label));
    return wait_until_completed();
  }
  MLXN_TRY(options.label.empty() ? encoder_.commit() : encoder_.commit_labeled(options.label));
  if (gpu_trace_) gpu_trace_->end();
  return stats_;
}

Result<FinishStats> GraphSession::wait_until_completed() {
  // The first command buffer's failure counts first, and neither is lost.
  Status first = first_ ? first_->wait_until_completed() : Status();
  Status last = encoder_.wait_until_completed();
  if (stats_.wait_ns == 0) stats_.wait_ns = now_ns() - commit_ns_;
  MLXN_TRY(std::move(first));
  MLXN_TRY(std::move(last));
  stats_.gpu_ns = encoder_.gpu_time_ns() + (first_ ? first_->gpu_time_ns() : 0);
  if (gpu_trace_) gpu_trace_->end();
  if (device().options().log_graph) {
    log(LogLevel::kWarning,
        str("graph session: encode ", stats_.encode_ns, " ns, wait ", stats_.wait_ns, " ns, gpu ",
            stats_.gpu_ns, " ns, barriers ", stats_.barriers[0], " + ", stats_.barriers[1],
            ", unannotated ", stats_.unannotated));
  }
  return stats_;
}

}  // namespace mlxn
