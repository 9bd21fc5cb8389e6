#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mlxn/core/encode/encoder.h"
#include "mlxn/core/graph/graph.h"
#include "mlxn/core/profile/gpu_trace.h"

namespace mlxn {

struct GraphSessionOptions {
  bool record = false;  // take dispatches down, optimise and encode them in `finish`
};

struct FinishOptions {
  ArrayRef<FusionRule> fuse = {};  // to be applied before all else
  bool reorder = false;
  bool two_command_buffers = false;  // the GPU starts on the first while the rest is encoded
  bool wait = true;                  // false: `wait_until_completed` comes later
  std::string label;                 // of the command buffer; empty: none
};

struct FinishStats {
  size_t dispatches = 0;  // encoded
  FusionStats fusions;
  size_t moved = 0, displaced = 0, unannotated = 0;
  std::array<size_t, 2> barriers = {0, 0};  // in the first and the second command buffer
  uint64_t encode_ns = 0;                   // from the session's begin until all was encoded
  uint64_t wait_ns = 0;                     // from commit to completion, on the host's clock
  uint64_t gpu_ns = 0;                      // on the GPU's clock, both command buffers
};

// How many dispatches ran between two barriers: sizes 1 to 7, and 8 or more.
struct GroupStats {
  std::array<uint64_t, 8> sizes = {};
  uint64_t dispatches = 0, barriers = 0;
};

// One forward pass: dispatches with derived barriers, straight into a command buffer or through a
// graph. Dropping it without `finish` drops its work. One user at a time.
class GraphSession {
 public:
  GraphSession(const Device& device, GraphSessionOptions options);
  GraphSession(GraphSession&&) noexcept;
  GraphSession& operator=(GraphSession&&) = delete;
  ~GraphSession();

  const Device& device() const { return encoder_.device(); }
  // For ops and dispatches.
  ComputeEncoder& encoder() { return encoder_; }
  bool is_recording() const { return encoder_.is_capturing(); }

  Status barrier();
  // Before a dispatch: what it reads and writes. Orders it behind what it conflicts with.
  Status barrier_between(ComputeEncoder::Buffers reads, ComputeEncoder::Buffers writes);
  // After a dispatch: the same, for one that was not announced.
  Status track_dispatch(ComputeEncoder::Buffers reads, ComputeEncoder::Buffers writes);
  void mark_temporary(const Buffer& buffer) { temporaries_.push_back(buffer); }
  uint64_t barrier_count() const { return groups_.barriers; }
  GroupStats group_stats() const;  // the open group included
  std::string dump_group_stats() const;

  // Ends recording and gives the graph, to be optimised and replayed by the caller. Empty when not
  // recording.
  std::optional<Graph> take_graph();

  // Encodes what was recorded, with the passes asked for, submits and, unless told otherwise,
  // waits. kInvalidState when called twice.
  Result<FinishStats> finish(const FinishOptions& options = {});
  // After finish without wait; fills in wait_ns and gpu_ns.
  Result<FinishStats> wait_until_completed();

 private:
  Status encode_graph(Graph graph, const FinishOptions& options);
  void close_group();

  CommandEncoder encoder_;
  std::optional<CommandEncoder> first_;  // of two command buffers
  std::optional<GpuTrace> gpu_trace_;
  std::vector<Buffer> temporaries_;
  GroupStats groups_;
  uint64_t open_group_ = 0;
  uint64_t begin_ns_, commit_ns_ = 0;
  bool finished_ = false;
  FinishStats stats_;
};

}  // namespace mlxn
