// Runs tasks one at a time in the order posted: on a thread of its own, started on first use, or on
// a thread that would otherwise wait for them.
#pragma once

#include <functional>
#include <memory>

namespace mlxn::rt {

class SerialWorker {
 public:
  SerialWorker();
  // Waits for the tasks posted so far; when called from one of them, they finish on their own.
  ~SerialWorker();
  SerialWorker(const SerialWorker&) = delete;
  SerialWorker& operator=(const SerialWorker&) = delete;

  void post(std::function<void()> task);
  // Runs tasks on the calling thread until `done` or until none is left to start. Spares a waiting
  // thread the hand-over to the worker's thread and back.
  void help(const std::function<bool()>& done);
  // Whether the calling thread is inside one of the tasks.
  bool is_current() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mlxn::rt
