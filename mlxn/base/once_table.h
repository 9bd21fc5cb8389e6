#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "mlxn/base/result.h"

namespace mlxn {

// Values that are costly to make, by key. When several threads ask for one key at once, one of them
// makes the value and the others wait; keys do not wait for each other. A failure goes to everybody
// who waits and is not kept. Thread-safe.
template <class Key, class T, class Hash = std::hash<Key>>
class OnceTable {
 public:
  // `make` is called without locks and must not ask for the same key. `made`: this call made it.
  template <class Make>
  Result<T> get(const Key& key, const Make& make, bool* made = nullptr) {
    std::unique_lock lock(mutex_);
    if (made) *made = false;
    if (auto found = entries_.find(key); found != entries_.end()) {
      const std::shared_ptr<Entry> entry = found->second;
      changed_.wait(lock, [&] { return entry->value.has_value(); });
      return *entry->value;
    }
    const auto entry = std::make_shared<Entry>();
    entries_.emplace(key, entry);
    lock.unlock();
    if (made) *made = true;
    Result<T> value = make();
    lock.lock();
    entry->value = value;
    if (value) {
      ++ready_;
    } else {
      entries_.erase(key);
    }
    changed_.notify_all();
    return value;
  }

  // Gives up a value that has been made; the next one who asks makes it again.
  void forget(const Key& key) {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(key);
    if (found == entries_.end() || !found->second->value) return;
    entries_.erase(found);
    --ready_;
  }

  // The value, if it has been made.
  std::optional<T> find(const Key& key) const {
    std::lock_guard lock(mutex_);
    auto found = entries_.find(key);
    if (found == entries_.end() || !found->second->value) return std::nullopt;
    return **found->second->value;
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return ready_;
  }

 private:
  struct Entry {
    std::optional<Result<T>> value;  // nothing while it is being made
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Key, std::shared_ptr<Entry>, Hash> entries_;
  size_t ready_ = 0;
};

}  // namespace mlxn
