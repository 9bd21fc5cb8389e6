#include "metal/rt/queue/serial_worker.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "mlxn/base/recycled.h"

namespace mlxn::rt {

// Shared with the thread, which may outlive the worker object when a task destroys it.
struct SerialWorker::State {
  std::mutex mutex;
  std::condition_variable changed;
  RecycledDeque<std::function<void()>> tasks;
  bool closing = false;
  std::thread thread;
  bool running = false;    // a task is being run, by
  std::thread::id runner;  // this thread

  bool can_start() const { return !running && !tasks.empty(); }

  // Runs the first task. The lock is free meanwhile: the task may destroy the worker object.
  void run_next(std::unique_lock<std::mutex>& lock) {
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    running = true;
    runner = std::this_thread::get_id();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    running = false;
    runner = {};
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return can_start() || (closing && !running); });
      if (tasks.empty()) return;
      run_next(lock);
    }
  }
};

SerialWorker::SerialWorker() : state_(std::make_shared<State>()) {}

SerialWorker::~SerialWorker() {
  const bool inside = is_current();
  std::thread thread;
  {
    std::lock_guard lock(state_->mutex);
    state_->closing = true;
    thread = std::move(state_->thread);
    state_->changed.notify_all();
  }
  if (!thread.joinable()) return;
  if (inside) {
    thread.detach();
  } else {
    thread.join();
  }
}

void SerialWorker::post(std::function<void()> task) {
  const std::shared_ptr<State> state = state_;  // the task may destroy this object at once
  {
    std::lock_guard lock(state->mutex);
    state->tasks.push_back(std::move(task));
    if (!state->thread.joinable()) {
      state->thread = std::thread([state] { state->run(); });
    }
  }
  state->changed.notify_all();  // without the lock, which the thread wants first of all
}

void SerialWorker::help(const std::function<bool()>& done) {
  const std::shared_ptr<State> state = state_;  // a task may destroy this object
  while (!done()) {                             // asked without the lock: it may take others
    std::unique_lock lock(state->mutex);
    if (!state->can_start()) return;
    state->run_next(lock);
    if (state->closing || !state->tasks.empty()) state->changed.notify_all();
  }
}

bool SerialWorker::is_current() const {
  std::lock_guard lock(state_->mutex);
  return state_->running && state_->runner == std::this_thread::get_id();
}

}  // namespace mlxn::rt
