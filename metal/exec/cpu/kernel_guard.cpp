#include "metal/exec/cpu/kernel_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "mlxn/base/fault_signals.h"
#include "mlxn/base/strings.h"

namespace mlxn::cpu {
namespace {

constexpr int kStopSignal = SIGURG;  // ignored by default, so that a late one does no harm
constexpr size_t kSignalStack = 64 << 10;
constexpr uintptr_t kStackEnd = 64 << 10;  // how far from the stack pointer a fault is the stack's

// What signal handlers know of a thread. Its own handler alone reads what is not atomic.
struct ThreadState {
  sigjmp_buf jump;
  std::atomic<bool> armed{false};  // inside guarded code
  GuardOptions options;
  KernelFault fault;
  std::atomic<const StopFlag*> stop{nullptr};  // options.stop while armed, for other threads
  pthread_t thread = pthread_self();
  void* signal_stack = nullptr;  // null: the thread has one of its own
};

struct Registry {
  std::mutex mutex;
  std::vector<ThreadState*> threads;
};

// Never destroyed: threads may end after static objects.
Registry& registry() {
  static auto& instance = *new Registry;
  return instance;
}

// Signal handlers read it, so its place must be there from the thread's start.
__attribute__((tls_model("initial-exec"))) thread_local ThreadState* current = nullptr;

uintptr_t instruction_of(const void* context) {
#if defined(__x86_64__)
  return uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#endif
}

uintptr_t stack_of(const void* context) {
#if defined(__x86_64__)
  return uintptr_t(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#else
  return static_cast<const ucontext_t*>(context)->uc_mcontext.sp;
#endif
}

// What a page fault came from.
const char* access_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  const bool writes = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
  return writes ? " of a store" : " of a load";
#else
  return "";
#endif
}

// Back to run_guarded, with the signals blocked that were so before: whoever installed the handler
// for us may have blocked more.
[[noreturn]] void leave(ThreadState& state, const void* context) {
  pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(state.jump, 1);
}

bool on_fault(int number, siginfo_t* info, void* context) {
  ThreadState* state = current;
  if (!state || !state->armed.load(std::memory_order_relaxed)) return false;
  state->armed.store(false, std::memory_order_relaxed);
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const uintptr_t stack = stack_of(context);
  KernelFault& fault = state->fault;
  fault.signal = number;
  fault.address = address;
  fault.has_address = info->si_code != SI_KERNEL && (number == SIGSEGV || number == SIGBUS);
  fault.at_stack =
      fault.has_address && std::max(address, stack) - std::min(address, stack) < kStackEnd;
  fault.access = access_of(context);
  leave(*state, context);
}

struct sigaction previous_stop_action = {};

void on_stop(int number, siginfo_t* info, void* context) {
  ThreadState* state = current;
  if (state && state->armed.load(std::memory_order_relaxed) && state->options.stop &&
      *state->options.stop) {
    const uintptr_t instruction = instruction_of(context);
    for (const CodeRange& range : state->options.stoppable) {
      if (!range.holds(instruction)) continue;
      state->armed.store(false, std::memory_order_relaxed);
      state->fault = KernelFault();
      leave(*state, context);
    }
  }
  if (info->si_code == SI_TKILL) return;  // as interrupt_guarded sends it
  if (previous_stop_action.sa_flags & SA_SIGINFO) {
    previous_stop_action.sa_sigaction(number, info, context);
  } else if (previous_stop_action.sa_handler != SIG_DFL &&
             previous_stop_action.sa_handler != SIG_IGN) {
    previous_stop_action.sa_handler(number);
  }
}

void install_handlers() {
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    handle_fault(number, FaultRole::kAbandon, on_fault);
  }
  struct sigaction action = {};
  action.sa_sigaction = on_stop;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  ::sigaction(kStopSignal, &action, &previous_stop_action);
}

// A stack for handlers, so that they run when the thread's own is full.
void* give_signal_stack() {
  stack_t old = {};
  if (sigaltstack(nullptr, &old) != 0 || !(old.ss_flags & SS_DISABLE)) return nullptr;
  void* block =
      mmap(nullptr, kSignalStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  stack_t own = {};
  own.ss_sp = block;
  own.ss_size = kSignalStack;
  if (sigaltstack(&own, nullptr) == 0) return block;
  munmap(block, kSignalStack);
  return nullptr;
}

// Forgets the thread when it ends.
struct ThreadEnd {
  ~ThreadEnd() {
    if (!state) return;
    {
      const std::lock_guard lock(registry().mutex);
      std::erase(registry().threads, state);
    }
    current = nullptr;
    stack_t now = {};
    if (state->signal_stack && sigaltstack(nullptr, &now) == 0 &&
        now.ss_sp == state->signal_stack) {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
      munmap(state->signal_stack, kSignalStack);
    }
    delete state;
  }
  ThreadState* state = nullptr;
};

[[gnu::noinline]] void prepare_thread() {
  static std::once_flag once;
  std::call_once(once, install_handlers);
  auto* state = new ThreadState;
  state->signal_stack = give_signal_stack();
  {
    const std::lock_guard lock(registry().mutex);
    registry().threads.push_back(state);
  }
  thread_local ThreadEnd end;
  end.state = state;
  current = state;
}

const char* name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    default: return "SIGILL";
  }
}

}  // namespace

Error to_error(const KernelFault& fault) {
  if (fault.signal == 0) return Error(ErrorCode::kTimeout, "it was stopped");
  std::string text = name_of(fault.signal);
  if (fault.has_address) text += str(fault.access, " at address 0x", std::hex, fault.address);
  if (fault.at_stack) {
    text += ", the stack of the thread is exhausted";
  } else if (fault.signal == SIGFPE) {
    text += ", an integer division without a result";
  } else if (fault.signal == SIGILL) {
    text += ", an instruction that this machine does not have";
  } else if (!fault.has_address) {
    text += ", a vector that is not aligned or an address that no machine has";
  }
  const bool memory = fault.signal == SIGSEGV || fault.signal == SIGBUS;
  return Error(memory ? ErrorCode::kPageFault : ErrorCode::kExecutionFailed, std::move(text));
}

bool run_guarded(void (*function)(void*), void* context, const GuardOptions& options,
                 KernelFault& fault) {
  if (!current) prepare_thread();
  ThreadState* const state = current;
  state->options = options;
  state->stop.store(options.stop, std::memory_order_relaxed);
  // Without the signal mask, which costs a call of the system: leave() puts it back.
  if (sigsetjmp(state->jump, 0) == 0) {
    state->armed.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    function(context);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->armed.store(false, std::memory_order_relaxed);
    state->stop.store(nullptr, std::memory_order_relaxed);
    return true;
  }
  state->stop.store(nullptr, std::memory_order_relaxed);
  fault = state->fault;
  return false;
}

void interrupt_guarded(const StopFlag& stop) {
  const std::lock_guard lock(registry().mutex);
  for (const ThreadState* state : registry().threads) {
    if (state->stop.load(std::memory_order_relaxed) == &stop) {
      pthread_kill(state->thread, kStopSignal);
    }
  }
}

}  // namespace mlxn::cpu
