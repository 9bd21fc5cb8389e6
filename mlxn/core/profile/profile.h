// Where GPU time went: a table per command-buffer label, a list of dispatches, and a trace of both.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "mlxn/base/result.h"

namespace mlxn {

struct ProfileEntry {
  uint64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0;  // the total saturates
};

struct DispatchEntry {
  std::string cb_label;
  std::string op_kind;          // "Other" unless set
  uint32_t dispatch_index = 0;  // within its command buffer
  uint64_t gpu_ns = 0, start_gpu_ns = 0, end_gpu_ns = 0;
  // For the trace.
  std::string kernel, label;
  uint64_t queue = 0;  // any number that is the queue's own
  uint64_t grid[3] = {0, 0, 0}, threadgroup[3] = {0, 0, 0};
  uint64_t bytes_bound = 0;
  std::string barrier_reason;  // of the barrier before it: "RAW", "WAR", "WAW", "explicit", ""
};

// One command buffer as it ran.
struct CommandBufferEntry {
  std::string label;
  uint64_t queue = 0;
  uint64_t start_ns = 0, end_ns = 0;
  uint32_t dispatches = 0, barriers = 0;
  std::string error;  // empty: completed
};

// Thread-safe. Tables grow until `reset`; the two lists hold `max_events` entries each, and what
// does not fit is counted as dropped.
class Profile {
 public:
  static constexpr size_t kMaxEvents = 1 << 20;

  explicit Profile(size_t max_events = kMaxEvents) : max_events_(max_events) {}
  // How the trace names the device; until then 0 and "GPU".
  void set_device(uint64_t id, std::string name);

  // Per-label table.
  void record(const std::string& label, uint64_t gpu_ns);
  // By total time, largest first; equal totals by label. As all lists here, of what has completed:
  // for what was committed without a wait, Device::synchronize comes first.
  std::vector<std::pair<std::string, ProfileEntry>> dump() const;

  // Per-dispatch list. Groups in order of first appearance of their label, entries in order of
  // arrival.
  void record_dispatch(DispatchEntry entry);
  std::vector<std::pair<std::string, std::vector<DispatchEntry>>> dump_dispatches() const;

  void record_command_buffer(CommandBufferEntry entry);
  std::vector<CommandBufferEntry> command_buffers() const;

  // GPU clock to host nanoseconds. With one pair of (host ns, gpu ticks) both clocks are taken to
  // count from the same moment; with more, the line through the first and the last. A pair with a
  // zero half means that ticks are nanoseconds; a clock that went back starts anew.
  void record_clock_pair(uint64_t cpu_ns, uint64_t gpu_ticks);
  uint64_t convert_gpu_ticks_to_ns(uint64_t ticks) const;

  // Dispatches and command buffers that could not be sampled or stored.
  void add_dropped_samples(uint64_t count);
  uint64_t dropped_samples() const;
  uint64_t dropped_command_buffers() const;

  // Empties the tables and forgets the clock pairs.
  void reset();

  std::string to_json() const;
  // Chrome/Perfetto trace events: one track for each queue, one slice for each command buffer and,
  // inside, one for each dispatch. Times count from the first event.
  std::string to_trace_json() const;
  // To a temporary file that is then renamed, so a failure leaves no half file.
  Status write_trace(const std::string& path) const;

 private:
  struct ClockPair {
    uint64_t cpu_ns = 0, gpu_ticks = 0;
  };

  const size_t max_events_;
  mutable std::mutex mutex_;
  std::map<std::string, ProfileEntry> table_;
  std::vector<DispatchEntry> dispatches_;
  std::vector<CommandBufferEntry> command_buffers_;
  ClockPair first_clock_, last_clock_;
  uint64_t dropped_samples_ = 0, dropped_command_buffers_ = 0;
  uint64_t device_id_ = 0;
  std::string device_name_ = "GPU";
};

}  // namespace mlxn
