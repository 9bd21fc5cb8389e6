#include "metal/rt/serial_worker.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace mlxn::rt {

// Shared with the thread, which may outlive the worker object when a task destroys it.
struct SerialWorker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool closing = false;
  std::thread thread;
  std::thread::id thread_id;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return closing || !tasks.empty(); });
      if (tasks.empty()) return;
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // may destroy the worker object; the lock must be free
      lock.lock();
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
  std::lock_guard lock(state_->mutex);
  state_->tasks.push_back(std::move(task));
  if (!state_->thread.joinable()) {
    state_->thread = std::thread([state = state_] { state->run(); });
    state_->thread_id = state_->thread.get_id();
  }
  state_->changed.notify_all();
}

bool SerialWorker::is_current() const {
  std::lock_guard lock(state_->mutex);
  return state_->thread_id == std::this_thread::get_id();
}

}  // namespace mlxn::rt
