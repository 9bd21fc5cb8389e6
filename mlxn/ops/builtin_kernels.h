// The kernels that come with the library.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mlxn/core/kernels/kernel_registry.h"

namespace mlxn {

// A kernel source below mlxn/ops, with its includes in place.
struct BuiltinKernels {
  std::string_view name;  // its path without the suffix: "norm/rms_norm"
  std::string_view text;
};

// Every source, by name. The build makes this table from the files it finds.
std::span<const BuiltinKernels> builtin_kernels();

// Their code, compiled ahead of time for some levels of machines. Empty where the build leaves it
// out (MLXN_AOT_KERNELS).
std::span<const std::span<const std::byte>> builtin_archives();

// Registers all of them as libraries, and their code. Compiles nothing.
void add_builtin_kernels(KernelRegistry& registry);

// The device's own registry, with all of them in it: what ops take their kernels from. A source
// registered there under a kernel's name is taken instead.
KernelRegistry& builtin_registry(const Device& device);
Result<Pipeline> builtin_pipeline(const Device& device, std::string_view kernel);

}  // namespace mlxn
