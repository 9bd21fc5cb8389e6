#pragma once

#include <condition_variable>
#include <mutex>

#include "metal/rt/executor/stream.h"

namespace mlxn::host {

// An event of streams that are threads of this process.
class HostEvent : public rt::Event {
 public:
  uint64_t value() const override;
  void set(uint64_t value) override;
  void signal(uint64_t value) override;
  void poison(uint64_t value, const std::string& reason) override;
  bool wait(uint64_t value, std::optional<std::chrono::milliseconds> limit) override;
  std::optional<std::string> poison_at(uint64_t value) const override;
  void notify(uint64_t value, std::function<void(uint64_t)> function) override;

  // Whether `set` was called with this value or a higher one.
  bool is_set_to(uint64_t value) const;

 private:
  struct Poison {
    uint64_t after, upto;  // values in (after, upto]
    std::string reason;
  };
  struct Notification {
    uint64_t value;
    std::function<void(uint64_t)> function;
  };

  // Under the lock.
  void advance(uint64_t value);
  void notify_due();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t value_ = 0;
  uint64_t highest_set_ = 0;
  std::vector<Poison> poisons_;
  std::vector<Notification> notifications_;
};

}  // namespace mlxn::host
