// Signals that the kernel raises for what a thread does: SIGSEGV, SIGBUS, SIGFPE, SIGILL.
#pragma once

#include <signal.h>

namespace mlxn {

// Who is asked first.
enum class FaultRole {
  kMend,     // makes the access good, which is then done again
  kAbandon,  // leaves the code that did it, by siglongjmp
  kCount,
};

// Deals with a signal. False when it is not its own. Called as a signal handler, on the thread's
// alternate stack if it has one, with the signal not blocked.
using FaultHandler = bool (*)(int number, siginfo_t* info, void* context);

// Puts a handler in front of the program's own action for the signal; signals it leaves go there,
// as do those that a process sent. There is one handler for each signal and role, for the whole
// process and for good; the same one may be added again. A program that sets its own action later
// takes the signal away from it.
void handle_fault(int number, FaultRole role, FaultHandler handler);

}  // namespace mlxn
