// Dispatches that are run again and again: checked once, and compiled once by executors that can.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "metal/rt/executor/executor.h"

namespace mlxn::rt {

struct Life;

// One version of a list. It never changes, and holds the memory and code that it uses.
class PreparedList {
 public:
  // What an executor makes of a version: resolved commands, a graph.
  class Compiled {
   public:
    virtual ~Compiled() = default;
  };
  struct Range {
    uint64_t first = 0, count = 0;  // places
  };

  uint64_t identity = 0;  // of the list, the same for all its versions and never used again
  uint64_t version = 0;   // grows with each change that was executed

  // Dispatches and barriers. Those of place i are [begins[i], begins[i + 1]); an empty place has
  // none, and a barrier comes in front of its dispatch.
  CommandList list;
  std::vector<size_t> begins = {0};
  std::vector<std::pair<uint64_t, Error>> wrong;  // places that cannot run, ascending
  std::vector<std::shared_ptr<const Life>> lives;
  std::vector<std::shared_ptr<const Pipeline>> pipelines;

  // Calls `function(place, index)` for the commands in a range, with their index in the list, up to
  // the first place that cannot run.
  template <class Function>
  Status for_each(Range range, const Function& function) const {
    range = clamp(range);
    for (uint64_t place = range.first; place < range.first + range.count; ++place) {
      if (const Error* error = error_at(place)) return *error;
      for (size_t i = begins[place]; i < begins[place + 1]; ++i) MLXN_TRY(function(place, i));
    }
    return {};
  }

  // Calls `make` once for the version, whoever asks first, and keeps the result. Thread-safe.
  template <class Make>
  const Compiled& compiled(const Make& make) const {
    std::call_once(once_, [&] { compiled_ = make(*this); });
    return *compiled_;
  }

 private:
  Range clamp(Range range) const;  // the part that is there
  // Why a place cannot run; null when it can.
  const Error* error_at(uint64_t place) const;

  mutable std::once_flag once_;
  mutable std::unique_ptr<const Compiled> compiled_;
};

// A list that may change. Thread-safe.
class ListSource {
 public:
  virtual ~ListSource() = default;
  // The version to run now; the same object until something changes.
  virtual std::shared_ptr<const PreparedList> current() = 0;
};

// The range an Execute asks for. `indirect`: the bytes of its memory, where it has one and the
// caller sees them.
Result<PreparedList::Range> range_of(const Execute& execute, const std::byte* indirect);

}  // namespace mlxn::rt
