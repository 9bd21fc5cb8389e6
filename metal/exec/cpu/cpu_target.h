#pragma once

#include <string>

#include "metal/msl/interface.h"

namespace mlxn::cpu {

// The code this machine runs best, found by CPUID and confirmed by the operating system: one of the
// levels x86-64, x86-64-v2, -v3, -v4 and the extensions beyond it that kernels profit from.
msl::Target detect_target();

// What the processor calls itself, e.g. "AMD EPYC 9354"; "CPU" when it does not say.
std::string processor_name();

}  // namespace mlxn::cpu
