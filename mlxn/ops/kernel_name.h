#pragma once

#include <string>
#include <string_view>

namespace mlxn {

// An entry point's name without the type at its end, and that type: "rms_norm", "f32". The type is
// empty where there is none.
struct KernelName {
  std::string stem, type;
};
KernelName split_kernel_name(std::string_view kernel);

}  // namespace mlxn
