// One thread, started on first use, that runs tasks in the order posted.
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
  // Whether the calling thread is this worker's.
  bool is_current() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace mlxn::rt
