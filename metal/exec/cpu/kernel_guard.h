// Runs code of kernels so that a fault in it is an error, not the end of the process, and so that
// it can be stopped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "mlxn/base/error.h"

namespace mlxn::cpu {

// Set when what runs for one command list is to stop.
using StopFlag = std::atomic<bool>;

struct CodeRange {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

struct GuardOptions {
  // Where code may be left at any instruction to stop it: a kernel's own, which holds no lock.
  std::array<CodeRange, 2> stoppable = {};
  const StopFlag* stop = nullptr;
};

// Why guarded code was left.
struct KernelFault {
  int signal = 0;  // 0: it was stopped
  bool has_address = false;
  bool at_stack = false;    // the address lies where the thread's stack ends
  const char* access = "";  // " of a store" or " of a load", where the machine tells
  uintptr_t address = 0;
};
Error to_error(const KernelFault& fault);

// Calls function(context). False when a fault or a stop ended it; then what it was doing is left as
// it is: it must own nothing that needs a destructor. Not to be nested.
bool run_guarded(void (*function)(void*), void* context, const GuardOptions& options,
                 KernelFault& fault);

template <class Function>
bool run_guarded(Function& function, const GuardOptions& options, KernelFault& fault) {
  return run_guarded([](void* self) { (*static_cast<Function*>(self))(); }, &function, options,
                     fault);
}

// Makes the threads that run guarded code with this flag, which is set, leave it where they can. To
// be called again while some still run.
void interrupt_guarded(const StopFlag& stop);

}  // namespace mlxn::cpu
