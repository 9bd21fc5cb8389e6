// The profile as JSON and as a trace for Chrome's and Perfetto's viewers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "mlxn/base/strings.h"
#include "mlxn/core/profile/profile.h"

namespace mlxn {
namespace {

using Json = nlohmann::ordered_json;

// Labels are the caller's bytes; what is not UTF-8 is replaced instead of failing.
std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const DispatchEntry& entry) {
  return {{"index", entry.dispatch_index},
          {"kernel", entry.kernel},
          {"label", entry.label},
          {"op_kind", entry.op_kind},
          {"gpu_ns", entry.gpu_ns},
          {"start_ns", entry.start_gpu_ns},
          {"end_ns", entry.end_gpu_ns},
          {"queue", entry.queue},
          {"grid", entry.grid},
          {"threadgroup", entry.threadgroup},
          {"bytes_bound", entry.bytes_bound},
          {"barrier", entry.barrier_reason}};
}

Json to_json(const CommandBufferEntry& entry) {
  return {{"label", entry.label},   {"queue", entry.queue},       {"start_ns", entry.start_ns},
          {"end_ns", entry.end_ns}, {"barriers", entry.barriers}, {"dispatches", entry.dispatches},
          {"error", entry.error}};
}

// Slices of a trace. Times are in microseconds since `origin`: small enough for a double to hold
// every nanosecond. Queues are numbered from 1, since viewers want small thread numbers.
class TraceWriter {
 public:
  TraceWriter(uint64_t pid, uint64_t origin) : pid_(pid), origin_(origin) {}

  void name_process(const std::string& name) {
    events_.push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", pid_}, {"args", {{"name", name}}}});
  }
  void add(const CommandBufferEntry& entry) {
    Json args = {{"dispatches", entry.dispatches}, {"barriers", entry.barriers}};
    if (!entry.error.empty()) args["error"] = entry.error;
    slice(entry.label.empty() ? "command buffer" : entry.label, "command_buffer", entry.queue,
          entry.start_ns, entry.end_ns, std::move(args));
  }
  void add(const DispatchEntry& entry) {
    slice(entry.label.empty() ? entry.kernel : entry.label, "dispatch", entry.queue,
          entry.start_gpu_ns, entry.end_gpu_ns,
          {{"kernel", entry.kernel},
           {"label", entry.label},
           {"grid", entry.grid},
           {"threadgroup", entry.threadgroup},
           {"bytes_bound", entry.bytes_bound},
           {"barrier", entry.barrier_reason},
           {"op_kind", entry.op_kind},
           {"command_buffer", entry.cb_label},
           {"index", entry.dispatch_index}});
  }
  Json take() { return std::move(events_); }

 private:
  void slice(const std::string& name, const char* category, uint64_t queue, uint64_t start_ns,
             uint64_t end_ns, Json args) {
    const size_t tid = track(queue);
    const uint64_t from = std::max(start_ns, origin_), to = std::max(end_ns, from);
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"ts", static_cast<double>(from - origin_) / 1e3},
                       {"dur", static_cast<double>(to - from) / 1e3},
                       {"pid", pid_},
                       {"tid", tid},
                       {"args", std::move(args)}});
  }

  // The track of a queue, named when it first appears.
  size_t track(uint64_t queue) {
    const auto [found, is_new] = tracks_.try_emplace(queue, tracks_.size() + 1);
    if (is_new) {
      events_.push_back({{"name", "thread_name"},
                         {"ph", "M"},
                         {"pid", pid_},
                         {"tid", found->second},
                         {"args", {{"name", str("queue ", found->second)}}}});
    }
    return found->second;
  }

  const uint64_t pid_, origin_;
  std::map<uint64_t, size_t> tracks_;
  Json events_ = Json::array();
};

Status write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return Error(ErrorCode::kIo, str("cannot create ", path.string()));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return Error(ErrorCode::kIo, str("cannot write ", text.size(), " bytes to ", path));
  return {};
}

// A name beside the target, so that the rename stays within one file system.
std::filesystem::path temporary_beside(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return str(path, ".", now, ".", counter.fetch_add(1), ".tmp");
}

}  // namespace

std::string Profile::to_json() const {
  const auto table = dump();
  const auto groups = dump_dispatches();
  const auto buffers = command_buffers();
  Json out = {{"labels", Json::array()},
              {"dispatches", Json::array()},
              {"command_buffers", Json::array()},
              {"dropped_samples", dropped_samples()},
              {"dropped_command_buffers", dropped_command_buffers()}};
  for (const auto& [label, entry] : table) {
    out["labels"].push_back({{"label", label},
                             {"count", entry.count},
                             {"total_ns", entry.total_ns},
                             {"min_ns", entry.min_ns},
                             {"max_ns", entry.max_ns}});
  }
  for (const auto& [label, entries] : groups) {
    Json list = Json::array();
    for (const DispatchEntry& entry : entries) list.push_back(mlxn::to_json(entry));
    out["dispatches"].push_back({{"label", label}, {"entries", std::move(list)}});
  }
  for (const CommandBufferEntry& entry : buffers) {
    out["command_buffers"].push_back(mlxn::to_json(entry));
  }
  return to_text(out, 2);
}

std::string Profile::to_trace_json() const {
  std::lock_guard lock(mutex_);
  uint64_t origin = std::numeric_limits<uint64_t>::max();
  for (const auto& entry : command_buffers_) origin = std::min(origin, entry.start_ns);
  for (const auto& entry : dispatches_) origin = std::min(origin, entry.start_gpu_ns);
  if (command_buffers_.empty() && dispatches_.empty()) origin = 0;
  TraceWriter writer(device_id_, origin);
  writer.name_process(device_name_);
  for (const auto& entry : command_buffers_) writer.add(entry);
  for (const auto& entry : dispatches_) writer.add(entry);
  return to_text({{"traceEvents", writer.take()},
                  {"displayTimeUnit", "ns"},
                  {"otherData",
                   {{"origin_ns", origin},
                    {"dropped_samples", dropped_samples_},
                    {"dropped_command_buffers", dropped_command_buffers_}}}},
                 1);
}

Status Profile::write_trace(const std::string& path) const {
  if (path.empty()) return Error(ErrorCode::kInvalidArgument, "trace: the path is empty");
  const std::filesystem::path temporary = temporary_beside(path);
  std::error_code error;
  if (auto written = write_file(temporary, to_trace_json()); !written) {
    std::filesystem::remove(temporary, error);
    return std::move(written.error().add_context("trace"));
  }
  std::filesystem::rename(temporary, path, error);
  if (!error) return {};
  const std::string reason = error.message();
  std::filesystem::remove(temporary, error);
  return Error(ErrorCode::kIo,
               str("trace: cannot rename ", temporary.string(), " to ", path, ": ", reason));
}

}  // namespace mlxn
