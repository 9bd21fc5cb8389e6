#include "metal/exec/host/host_event.h"

#include <algorithm>

namespace mlxn::host {

uint64_t HostEvent::value() const {
  std::lock_guard lock(mutex_);
  return value_;
}

void HostEvent::set(uint64_t value) {
  std::lock_guard lock(mutex_);
  value_ = value;
  highest_set_ = std::max(highest_set_, value);
  std::erase_if(poisons_, [&](const Poison& poison) { return poison.after >= value; });
  advance(value);
}

bool HostEvent::wait(uint64_t value, std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(mutex_);
  auto reached = [&] { return value_ >= value; };
  if (limit) return changed_.wait_for(lock, *limit, reached);
  changed_.wait(lock, reached);
  return true;
}

std::optional<std::string> HostEvent::poison_at(uint64_t value) const {
  std::lock_guard lock(mutex_);
  for (const Poison& poison : poisons_) {
    if (value > poison.after && value <= poison.upto) return poison.reason;
  }
  return {};
}

void HostEvent::notify(uint64_t value, std::function<void(uint64_t)> function) {
  std::lock_guard lock(mutex_);
  notifications_.push_back({value, std::move(function)});
  notify_due();
}

bool HostEvent::is_set_to(uint64_t value) const {
  std::lock_guard lock(mutex_);
  return highest_set_ >= value;
}

void HostEvent::signal(uint64_t value) {
  std::lock_guard lock(mutex_);
  advance(value);
}

void HostEvent::poison(uint64_t value, const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (value > value_) {
    // Failures in a row extend one record, so that a long-lived event does not collect them.
    if (!poisons_.empty() && poisons_.back().upto == value_) {
      poisons_.back().upto = value;
    } else {
      poisons_.push_back({value_, value, reason});
    }
  }
  advance(value);
}

void HostEvent::advance(uint64_t value) {
  value_ = std::max(value_, value);
  notify_due();
  changed_.notify_all();
}

void HostEvent::notify_due() {
  std::erase_if(notifications_, [&](const Notification& one) {
    if (one.value > value_) return false;
    one.function(value_);
    return true;
  });
}

}  // namespace mlxn::host
