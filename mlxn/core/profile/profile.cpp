#include "mlxn/core/profile/profile.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "mlxn/base/checked.h"

namespace mlxn {
namespace {

using Wide = unsigned __int128;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

// value * numerator / denominator, rounded down; the product cannot overflow.
uint64_t scale(uint64_t value, uint64_t numerator, uint64_t denominator) {
  const Wide out = Wide(value) * numerator / denominator;
  return out > kMax ? kMax : static_cast<uint64_t>(out);
}

}  // namespace

void Profile::set_device(uint64_t id, std::string name) {
  std::lock_guard lock(mutex_);
  device_id_ = id;
  device_name_ = std::move(name);
}

void Profile::record(const std::string& label, uint64_t gpu_ns) {
  std::lock_guard lock(mutex_);
  ProfileEntry& entry = table_[label];
  entry.min_ns = entry.count == 0 ? gpu_ns : std::min(entry.min_ns, gpu_ns);
  entry.max_ns = std::max(entry.max_ns, gpu_ns);
  ++entry.count;
  entry.total_ns = saturating_add(entry.total_ns, gpu_ns);
}

std::vector<std::pair<std::string, ProfileEntry>> Profile::dump() const {
  std::vector<std::pair<std::string, ProfileEntry>> out;
  {
    std::lock_guard lock(mutex_);
    out.assign(table_.begin(), table_.end());
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.second.total_ns != b.second.total_ns ? a.second.total_ns > b.second.total_ns
                                                  : a.first < b.first;
  });
  return out;
}

void Profile::record_dispatch(DispatchEntry entry) {
  std::lock_guard lock(mutex_);
  if (dispatches_.size() >= max_events_) {
    dropped_samples_ = saturating_add(dropped_samples_, 1);
    return;
  }
  dispatches_.push_back(std::move(entry));
}

std::vector<std::pair<std::string, std::vector<DispatchEntry>>> Profile::dump_dispatches() const {
  std::vector<std::pair<std::string, std::vector<DispatchEntry>>> groups;
  std::unordered_map<std::string, size_t> index;
  std::lock_guard lock(mutex_);
  for (const DispatchEntry& entry : dispatches_) {
    const auto [found, is_new] = index.try_emplace(entry.cb_label, groups.size());
    if (is_new) groups.push_back({entry.cb_label, {}});
    groups[found->second].second.push_back(entry);
  }
  return groups;
}

void Profile::record_command_buffer(CommandBufferEntry entry) {
  std::lock_guard lock(mutex_);
  if (command_buffers_.size() >= max_events_) {
    dropped_command_buffers_ = saturating_add(dropped_command_buffers_, 1);
    return;
  }
  command_buffers_.push_back(std::move(entry));
}

std::vector<CommandBufferEntry> Profile::command_buffers() const {
  std::lock_guard lock(mutex_);
  return command_buffers_;
}

void Profile::record_clock_pair(uint64_t cpu_ns, uint64_t gpu_ticks) {
  std::lock_guard lock(mutex_);
  last_clock_ = {cpu_ns, gpu_ticks};
  const bool first_is_usable = first_clock_.cpu_ns != 0 && first_clock_.gpu_ticks != 0;
  const bool ran_on = cpu_ns >= first_clock_.cpu_ns && gpu_ticks >= first_clock_.gpu_ticks;
  if (!first_is_usable || !ran_on) first_clock_ = last_clock_;
}

uint64_t Profile::convert_gpu_ticks_to_ns(uint64_t ticks) const {
  std::lock_guard lock(mutex_);
  const ClockPair &first = first_clock_, &last = last_clock_;
  if (last.cpu_ns == 0 || last.gpu_ticks == 0) return ticks;
  if (last.gpu_ticks == first.gpu_ticks) return scale(ticks, last.cpu_ns, last.gpu_ticks);
  const uint64_t cpu_span = last.cpu_ns - first.cpu_ns;
  const uint64_t gpu_span = last.gpu_ticks - first.gpu_ticks;
  if (ticks >= first.gpu_ticks) {
    return saturating_add(first.cpu_ns, scale(ticks - first.gpu_ticks, cpu_span, gpu_span));
  }
  return saturating_sub(first.cpu_ns, scale(first.gpu_ticks - ticks, cpu_span, gpu_span));
}

void Profile::add_dropped_samples(uint64_t count) {
  std::lock_guard lock(mutex_);
  dropped_samples_ = saturating_add(dropped_samples_, count);
}

uint64_t Profile::dropped_samples() const {
  std::lock_guard lock(mutex_);
  return dropped_samples_;
}

uint64_t Profile::dropped_command_buffers() const {
  std::lock_guard lock(mutex_);
  return dropped_command_buffers_;
}

void Profile::reset() {
  std::lock_guard lock(mutex_);
  table_.clear();
  dispatches_.clear();
  command_buffers_.clear();
  first_clock_ = last_clock_ = {};
  dropped_samples_ = dropped_command_buffers_ = 0;
}

}  // namespace mlxn
