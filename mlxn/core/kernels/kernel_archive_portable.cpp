// For our own Metal; the build takes kernel_archive_apple.cpp with Apple's.
#include "mlxn/core/kernels/kernel_archive.h"

#include <mlxn/metal_extensions.hpp>

namespace mlxn {

void add_kernel_archive(std::span<const std::byte> archive) {
  metal::add_kernel_archive(archive.data(), archive.size());
}

}  // namespace mlxn
