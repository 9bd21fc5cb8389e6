#include "mlxn/base/fault_signals.h"

#include <atomic>
#include <cerrno>
#include <mutex>

namespace mlxn {
namespace {

constexpr int kSignals = 32;
constexpr int kRoles = static_cast<int>(FaultRole::kCount);

// Read by the signal handler, so without locks; `previous` is written before the handler is there.
std::atomic<FaultHandler> handlers[kSignals][kRoles];
struct sigaction previous[kSignals];
bool installed[kSignals];

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction& action = previous[number];
  if (action.sa_flags & SA_SIGINFO) {
    action.sa_sigaction(number, info, context);
  } else if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    ::sigaction(number, &action, nullptr);  // what raised it is done again, without us
    if (info->si_code <= 0) ::raise(number);
  } else {
    action.sa_handler(number);
  }
}

void on_signal(int number, siginfo_t* info, void* context) {
  const int saved = errno;
  // Codes above 0 are the kernel's; others were sent.
  for (int role = 0; info->si_code > 0 && role < kRoles; ++role) {
    const FaultHandler handler = handlers[number][role].load(std::memory_order_acquire);
    if (!handler || !handler(number, info, context)) continue;
    errno = saved;
    return;
  }
  errno = saved;
  pass_on(number, info, context);
}

}  // namespace

void handle_fault(int number, FaultRole role, FaultHandler handler) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  handlers[number][static_cast<int>(role)].store(handler, std::memory_order_release);
  if (installed[number]) return;
  installed[number] = true;
  ::sigaction(number, nullptr, &previous[number]);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigaction(number, &action, nullptr);
}

}  // namespace mlxn
