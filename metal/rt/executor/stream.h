// How an executor takes work: streams, what is submitted to them, and events between them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "mlxn/base/recycled.h"
#include "mlxn/base/result.h"

namespace mlxn::rt {

struct CommandList;

// A value that submissions wait for and make grow, on the device and without the host. When the
// submission that was to signal a value fails, the value is reached all the same, so that nobody
// waits for ever, but the step from the old value to the new one is poisoned: submissions that wait
// for it fail with the first error. The functions are the host's side. Thread-safe.
class Event {
 public:
  virtual ~Event() = default;
  virtual uint64_t value() const = 0;
  // Also back; then what was poisoned from there on is forgotten.
  virtual void set(uint64_t value) = 0;
  // What a step of a submission does: neither lowers the value.
  virtual void signal(uint64_t value) = 0;
  virtual void poison(uint64_t value, const std::string& reason) = 0;
  // Whether the value was reached in time; without a limit it waits for ever.
  virtual bool wait(uint64_t value, std::optional<std::chrono::milliseconds> limit) = 0;
  // Why the value was poisoned; nothing when it was not.
  virtual std::optional<std::string> poison_at(uint64_t value) const = 0;
  // Calls the function once with the value that is there, as soon as `value` is reached: before the
  // submission that signals it has completed, on any thread, so it must be quick and not use the
  // event. Functions that are left when the event goes are not called.
  virtual void notify(uint64_t value, std::function<void(uint64_t)> function) = 0;
};

// Whoever submits keeps what steps point to until completion. An event of another executor than the
// stream's is used by its host side.
struct WaitStep {
  Event* event = nullptr;
  uint64_t value = 0;
};
struct SignalStep {
  Event* event = nullptr;
  uint64_t value = 0;
};
struct ListStep {
  const CommandList* list = nullptr;
};
// A function of the host that the stream calls in its place. A device that runs by itself has to
// stop for it, so it is for captures and checks only.
struct HostStep {
  std::function<Status()> function;
};
using Step = std::variant<WaitStep, SignalStep, ListStep, HostStep>;

struct RunTimes {
  uint64_t start_ns = 0, end_ns = 0;  // on the executor's clock
};

// One command buffer. The stream runs the steps in order. After one that fails, the rest is not run
// and the events it would have signalled are poisoned.
class Submission {
 public:
  virtual ~Submission() = default;
  // Called once each, in this order and in the order of submission; never two of a stream at once.
  // When `completed` begins, all steps are done; when it returns, the stream has let go of the
  // submission, which may be gone. Times span the lists that ran; 0 when none did.
  virtual void started() = 0;
  virtual void completed(Status status, const RunTimes& times) = 0;
  // "command buffer 'x'", for errors.
  virtual std::string title() const = 0;

  RecycledVector<Step> steps;
  Status accepted;  // an error: nothing runs, as if a step in front of all had failed
};

// Submissions of a stream run one after the other, each without waiting for the callbacks of those
// before it where the device runs by itself. Thread-safe.
class Stream {
 public:
  // Waits for what was submitted; when called from one of its callbacks, that finishes on its own.
  virtual ~Stream() = default;
  // Returns at once.
  virtual void submit(Submission& submission) = 0;
  // For a thread that would wait: runs submissions on it, until `done` or until none is left to
  // start. Does nothing where the device needs no thread of the host.
  virtual void help(const std::function<bool()>& done) = 0;
  // Whether the calling thread is inside a callback or a host step of this stream.
  virtual bool is_current() const = 0;
};

}  // namespace mlxn::rt
