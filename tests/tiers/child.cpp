#include "tests/tiers/child.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mlxn/base/strings.h"

namespace mlxn::tiers {

SharedBytes::SharedBytes(size_t size) : size_(size) {
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    std::perror("mmap");
    std::exit(3);
  }
  data_ = static_cast<std::byte*>(block);
}

SharedBytes::~SharedBytes() {
  munmap(data_, size_);
}

std::string to_text(const ChildEnd& end) {
  if (end.signal == SIGALRM || end.signal == SIGPROF) return "ran out of time";
  if (end.signal != 0) return str("crashed (", strsignal(end.signal), ")");
  return str("ended with code ", end.exit_code);
}

void limit_time(unsigned seconds) {
  constexpr unsigned kWaiting = 20;  // of a process that gets little of a processor, or sleeps
  const itimerval limit{{0, 0}, {static_cast<time_t>(seconds), 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(seconds * kWaiting);
}

pid_t start_child(const std::function<int()>& work, unsigned seconds) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM, SIGPROF})
    std::signal(number, SIG_DFL);
  limit_time(seconds);
  const int code = work();
  std::fflush(nullptr);
  _exit(code);
}

ChildEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

ChildEnd wait_for(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return {3, 0};
  return end_of(status);
}

ChildEnd run_in_child(const std::function<int()>& work, unsigned seconds) {
  return wait_for(start_child(work, seconds));
}

}  // namespace mlxn::tiers
