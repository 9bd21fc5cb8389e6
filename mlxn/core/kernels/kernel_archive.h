#pragma once

#include <cstddef>
#include <span>

namespace mlxn {

// Kernels compiled ahead of time, as mlxn::metal::serialize_kernels gives them, for all devices of
// this process; the bytes must stay. Text that they were made from then compiles without a
// compiler. Apple's Metal has no use for them and ignores them.
void add_kernel_archive(std::span<const std::byte> archive);

}  // namespace mlxn
