// Runs code that may crash or hang in a process of its own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

namespace mlxn::tiers {

// Zero-filled memory that a process and its children see alike.
class SharedBytes {
 public:
  explicit SharedBytes(size_t size);
  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// One trivial object in such memory.
template <class T>
class Shared {
 public:
  Shared() : bytes_(sizeof(T)) {}
  T* operator->() const { return reinterpret_cast<T*>(bytes_.data()); }
  T& operator*() const { return *operator->(); }

 private:
  SharedBytes bytes_;
};

// How a child ended.
struct ChildEnd {
  int exit_code = 0;  // when signal is 0
  int signal = 0;     // SIGPROF or SIGALRM: the time was over
  bool good() const { return signal == 0 && exit_code == 0; }
};
std::string to_text(const ChildEnd& end);

// Ends this process after so many seconds of processor time, and much later if it sleeps.
void limit_time(unsigned seconds);
// Starts `work` in a child that ends with its result as exit code, or after `seconds` as above.
pid_t start_child(const std::function<int()>& work, unsigned seconds);
// Waits for it.
ChildEnd wait_for(pid_t child);
ChildEnd end_of(int wait_status);
ChildEnd run_in_child(const std::function<int()>& work, unsigned seconds);

}  // namespace mlxn::tiers
