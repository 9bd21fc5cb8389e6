// An executor for tests, with what sets a device with memory and threads of its own apart from the
// CPU: the host cannot see Private memory, memory of the host cannot be wrapped, streams run beside
// each other and beside their callbacks, and all of it takes time. Kernels run as on the CPU.
#pragma once

#include "metal/exec/cpu/cpu_executor.h"

namespace mlxn::discrete {

// The options' schedule_seed also draws the delays.
std::unique_ptr<rt::Executor> create_executor(const cpu::CpuOptions& options);

}  // namespace mlxn::discrete
